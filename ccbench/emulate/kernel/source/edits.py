# SPDX-License-Identifier: Apache-2.0
"""Changes of the kernel's source: only in ``arch/um``, and only where no option serves.

Nothing outside ``arch/um`` and its part for the host's processor, ``arch/x86/um``, is touched: the
TCP stack, its algorithms and the qdiscs are the kernel's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["ADDITIONS", "EDITS", "Edit", "apply_edits"]


@dataclass(frozen=True, kw_only=True)
class Edit:
    r"""One change of one file.

    Parameters
    ----------
    file : str
        The file, from the top of the kernel's tree.
    find : str
        A regular expression (in which ``^`` and ``$`` match at every line) that must match exactly
        once.
    replace : str
        What to put there, with the groups of `find` as ``\1`` and the chosen HZ as ``@HZ@``.
    reason : str
        Why, to be read after "ccbench changes there ...".
    """

    file: str
    find: str
    replace: str
    reason: str

    def applied(self, text: str, *, hz: int) -> str:
        r"""Return the file's text with the change made.

        Raises
        ------
        InputError
            If the place to change is not there exactly once.

        Examples
        --------
        >>> edit = Edit(file="Kconfig", find=r"default \d+", replace="default @HZ@", reason="HZ")
        >>> edit.applied("config HZ default 100", hz=1000)
        'config HZ default 1000'
        """
        changed, count = re.subn(
            self.find, self.replace.replace("@HZ@", str(hz)), text, flags=re.MULTILINE
        )
        if count != 1:
            raise InputError(
                f"source: {self.file} has {count} places, not 1, to change as ccbench must "
                f"({self.reason}): this kernel is too different from those that ccbench knows; "
                "use Linux 6.12 or 6.1"
            )
        return changed


EDITS = (
    Edit(
        file="arch/um/Kconfig",
        find=r"^(config HZ\n(?:[ \t]+.*\n)*?[ \t]+default )\d+$",
        replace=r"\g<1>@HZ@",
        reason="HZ, the fineness of TCP's timers, is not an option on this architecture",
    ),
    Edit(
        file="arch/um/os-Linux/util.c",
        find=r"^#include <os\.h>$",
        replace=r'#include <os.h>\n#include "ccbench_entropy.h"',
        reason="the kernel's random numbers come from the scenario's seed",
    ),
    Edit(
        file="arch/um/os-Linux/util.c",
        find=r"\bgetrandom\(buf, len, flags\);",
        replace="ccbench_getrandom(buf, len, flags);",
        reason="the kernel's random numbers come from the scenario's seed",
    ),
    # Linux up to 6.5, and 6.1 before it was mended, ignores the start that it is given for the lack
    # of this sign, and takes the host's time.
    Edit(
        file="arch/um/kernel/time.c",
        find=r'^__setup\("time-travel-start=?",',
        replace='__setup("time-travel-start=",',
        reason="the guest's date, which its random numbers depend on, must not be the host's",
    ),
    # The guest's memory begins where the host's heap ends. Hosts put the heap at random, up to 1 GB
    # further up, and the kernel adds the gap to its memory: every run would have another amount of
    # memory, so other TCP limits and hash sizes, and spend time on initialising it. The rest
    # lets the memory begin right behind the program, where no heap is since nobody makes one.
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"\bbrk_start = \(unsigned long\) ?sbrk\(0\);",
        replace="brk_start = (unsigned long) &_end;",
        reason="the guest's memory must not depend on where the host has put the heap",
    ),
    Edit(
        file="arch/um/kernel/mem.c",
        find=r"\bbrk_end = .*\bsbrk\(0\)\);",
        replace="brk_end = (unsigned long) UML_ROUND_UP(brk_start);",
        reason="the guest's memory must not depend on where the host has put the heap",
    ),
    Edit(
        file="arch/um/os-Linux/main.c",
        find=r"^#include <stdlib\.h>$",
        replace=r"#include <stdlib.h>\n#include <ccbench_process.h>",
        reason="the guest must make no heap, and end with the process that started it",
    ),
    Edit(
        file="arch/um/os-Linux/main.c",
        find=r"^\tset_stklim\(\);$",
        replace=r"\tset_stklim();\n\tccbench_prepare_process();",
        reason="the guest must make no heap, and end with the process that started it",
    ),
    # Else those that carry the guest's program may stay, with system calls that are then the
    # host's: before Linux 6.12 always, later where the kernel's process is killed at its start.
    Edit(
        file="arch/um/os-Linux/start_up.c",
        find=r"^#include <errno\.h>$",
        replace=r"#include <errno.h>\n#include <ccbench_process.h>",
        reason="the processes that the guest's kernel makes must end with it",
    ),
    Edit(
        file="arch/um/os-Linux/start_up.c",
        find=r"\bptrace\(PTRACE_TRACEME, 0, 0, 0\)",
        replace="ccbench_trace_me()",
        reason="the processes that the guest's kernel makes must end with it",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^#include <errno\.h>$",
        replace=r"#include <errno.h>\n#include <ccbench_process.h>",
        reason="the processes that the guest's kernel makes must end with it",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"\bptrace\(PTRACE_TRACEME, 0, 0, 0\)",
        replace="ccbench_trace_me()",
        reason="the processes that the guest's kernel makes must end with it",
    ),
    # They come with the debugger that looks at a process, with job control, with freezers: the
    # guest's kernel would take the stop for its program's fault, and panic.
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^#define STUB_SIG_MASK \((.*)\)$",
        replace=r"#define STUB_SIG_MASK (\1 | CCBENCH_JOB_CONTROL)",
        reason="who stops or continues a process of the guest's program does not end the guest",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^\t\t\tcase SIGALRM:$",
        replace=r"\g<0>\n\t\t\tCCBENCH_JOB_CONTROL_CASES:",
        reason="who stops or continues a process of the guest's program does not end the guest",
    ),
    # The host takes the whole state of its vector units or nothing of it. The room that the guest's
    # kernel has for it is too small where there are matrix registers (AMX), and it would panic. A
    # program of the guest is a process of the host, in which its vector registers stay between its
    # turns, and over page faults by the changes after this one. (Threads of a program share them:
    # see init.c.)
    Edit(
        file="arch/x86/um/os-Linux/registers.c",
        find=r"\bhave_xstate_support = 1;",
        replace="have_xstate_support = 0;",
        reason="the guest must start on hosts whose processors have more registers than it knows",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^#include <registers\.h>$",
        replace=r"#include <registers.h>\n#include <ccbench_registers.h>",
        reason="programs must find their vector registers as they were before a page fault",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"\bget_fp_registers\(pid, aux_fp_regs\)",
        replace="ccbench_save_registers(pid, aux_fp_regs)",
        reason="programs must find their vector registers as they were before a page fault",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"\bput_fp_registers\(pid, aux_fp_regs\)",
        replace="ccbench_restore_registers(pid, aux_fp_regs)",
        reason="programs must find their vector registers as they were before a page fault",
    ),
    # With a coarser clock most timers fire before they are due by that clock, and then again.
    Edit(
        file="arch/um/include/linux/time-internal.h",
        find=r"^(#define TIMER_MULTIPLIER )\d+$",
        replace=r"\g<1>1",
        reason="the guest's clock counts nanoseconds",
    ),
    # Otherwise a timer may come half a microsecond late, if another one came just before it.
    Edit(
        file="arch/um/include/linux/time-internal.h",
        find=r"^(#define TIMER_MIN_DELTA +)\d+$",
        replace=r"\g<1>1",
        reason="timers of the guest come when they are due",
    ),
    Edit(
        file="arch/um/kernel/time.c",
        find=r"^void __init time_init\(void\)$",
        replace=r'#include "ccbench_clock.h"\n\n\g<0>',
        reason="the emulated path moves the clock itself, a third faster than by timers",
    ),
    Edit(
        file="arch/um/kernel/time.c",
        find=r"^(void timer_handler\(.*\n(?:.*\n){1,20}?)\tdo_IRQ\(TIMER_IRQ, regs\);$",
        replace=r"static void ccbench_timer_interrupt(struct uml_pt_regs *regs);\n\n"
        r"\g<1>\tccbench_timer_interrupt(regs);",
        reason="timers of ours must not change the kernel's random numbers",
    ),
    # The registers of a timer interrupt are 3 KB with those for floating point; nobody reads them.
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^(static void timer_real_alarm_handler\(.*\n(?:.*\n){1,6}?)"
        r"(\t\t)memset\(&regs, 0, sizeof\(regs\)\);$",
        replace=r"\g<1>\g<2>memset(regs.gp, 0, sizeof(regs.gp)), regs.is_user = 0;",
        reason="a timer interrupt clears no more of its registers than is looked at",
    ),
    # Linux does so for bad pointers only.
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^(static void sig_handler_common\(.*\n(?:.*\n){1,8}?\tif \()sig == SIGSEGV\) \{$",
        replace=r"\g<1>sig != SIGIO && sig != SIGWINCH) {",
        reason="a division by zero and the like, too, must show where it happened",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r'^(\t\t)panic\("Kernel mode signal %d", sig\);$',
        replace=r"\1current->thread.segv_regs = container_of(regs, struct pt_regs, regs);\n"
        r"\1show_regs(current->thread.segv_regs);\n"
        # By which boot.py ends a guest that hangs.
        r"\1if (sig == SIGTRAP)\n\1\tshow_state_filter(TASK_UNINTERRUPTIBLE);\n\g<0>",
        reason="a division by zero or a hang, too, must show where it happened",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r'^\t\tpanic\("Segfault with no mm"\);$',
        replace='\t\tpanic("Segfault with no mm at addr 0x%lx", address);',
        reason="a bad pointer must be shown",
    ),
    Edit(
        file="arch/um/kernel/dyn.lds.S",
        find=r"^([ \t]+)INIT_TASK_DATA\(",
        replace=r"\1. = ALIGN(4096);\1ccbench_stack_guard = .;\1. += 4096;\g<0>",
        reason="a stack that overflows must not write over the kernel's data",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r"^#include <os\.h>$",
        replace=r'\g<0>\n#include "ccbench_crash.h"',
        reason="a stack that overflows must not write over the kernel's data",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r"^\t(else if \(current->mm == NULL\) \{)$",
        replace=r"\telse if (!is_user && ccbench_is_stack_guard(address)) {\n"
        r"\t\tshow_regs(container_of(regs, struct pt_regs, regs));\n"
        r'\t\tpanic("Kernel stack overflow");\n'
        r"\t}\n\t\1",
        reason="a stack that overflows must be called so",
    ),
    # The kernel itself lies below 2 GB; its modules do not.
    Edit(
        file="arch/um/Makefile",
        find=r"^\tKBUILD_CFLAGS \+= -mcmodel=large$",
        replace="\tKBUILD_CFLAGS_MODULE += -mcmodel=large",
        reason="only modules need the large code model, in which every call is slow",
    ),
)

#: Files of ours that the changes use: where they go in the kernel's tree, and where they are below
#: the folder of module sources.
ADDITIONS = {
    "arch/um/kernel/ccbench_clock.h": "um/clock.h",
    "arch/um/kernel/ccbench_crash.h": "um/crash.h",
    "arch/um/os-Linux/ccbench_entropy.h": "um/entropy.h",
    "arch/um/os-Linux/ccbench_random_stream.h": "include/random_stream.h",
    "arch/um/include/shared/ccbench_process.h": "um/process.h",
    "arch/um/include/shared/ccbench_registers.h": "um/registers.h",
}


def apply_edits(
    tree: Path, edits: Iterable[Edit], additions: Mapping[str, str], *, hz: int
) -> None:
    """Change a kernel's source tree.

    Parameters
    ----------
    tree : Path
        The tree: a copy of our own.
    edits : iterable of Edit
        The changes, made one after the other.
    additions : mapping of str to str
        Files to add: where they go in the tree, and their texts.
    hz : int
        Timer ticks per second.

    Raises
    ------
    InputError
        If the tree is not one that the changes fit.
    """
    for edit in edits:
        file = tree / edit.file
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(
                f"source: there is no {edit.file}, so this is not the source of a Linux kernel "
                "that runs in user mode; name a complete kernel tree or tarball, 6.1 or newer"
            ) from None
        file.write_text(edit.applied(text, hz=hz), encoding="utf-8")
    for target, added in additions.items():
        (tree / target).write_text(added, encoding="utf-8")
