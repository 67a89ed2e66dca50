# SPDX-License-Identifier: Apache-2.0
"""Edits of Linux's source, where no configuration option suffices.

These are in ``arch/um`` and its processor-specific part, ``arch/x86/um``; the source of random
numbers counts who draws them, and further parts of Linux do not change them. Congestion control
algorithms and qdiscs are unmodified, and TCP only tells congestion controls more (tcp_edits.py).
The texts of an edit, including its reason, are part of the kernel tree's key: changing one rebuilds
the kernel. Reasons and comments are no part of a run's identity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source.c_code import normal_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["ADDITIONS", "EDITS", "Edit", "apply_edits"]


@dataclass(frozen=True, kw_only=True)
class Edit:
    r"""One edit of one file.

    Parameters
    ----------
    file : str
        The file's path in the kernel's tree.
    find : str
        A regular expression (in which ``^`` and ``$`` match at every line) that must match exactly
        once.
    replace : str
        The replacement, with the groups of `find` as ``\1`` and HZ as ``@HZ@``.
    reason : str
        The reason, for errors.
    otherwise : tuple of (str, str)
        Patterns and replacements for kernels in which this place differs. One of all patterns must
        match, exactly once. The replacement of a kernel that needs no edit is ``\\g<0>``.
    moved_to : str
        The file of kernels that do not have `file`.
    """

    file: str
    find: str
    replace: str
    reason: str
    otherwise: tuple[tuple[str, str], ...] = ()
    moved_to: str = ""

    def identity(self) -> tuple[object, ...]:
        """Return the part that determines the edited code."""
        changes = ((self.find, self.replace), *self.otherwise)
        codes = [(find, normal_form(replace)) for find, replace in changes]
        return self.file, self.moved_to, codes

    def applied(self, text: str, *, hz: int) -> str:
        r"""Return the file's text with the edit applied.

        Raises
        ------
        InputError
            If not one of the patterns matches exactly once.

        Examples
        --------
        >>> edit = Edit(file="Kconfig", find=r"default \d+", replace="default @HZ@", reason="HZ")
        >>> edit.applied("config HZ default 100", hz=1000)
        'config HZ default 1000'
        """
        changes = [
            re.subn(find, replace.replace("@HZ@", str(hz)), text, flags=re.MULTILINE)
            for find, replace in ((self.find, self.replace), *self.otherwise)
        ]
        count = sum(matches for _, matches in changes)
        if count != 1:
            raise InputError(
                f"source: {self.file} has {count} matches, not 1, for a required edit "
                f"({self.reason}): this kernel is not supported; use Linux 6.1, 6.12 or 7.3"
            )
        (changed,) = (changed for changed, matches in changes if matches)
        return changed


def _without(pattern: str) -> tuple[str, str]:
    """Return the alternative for kernels whose file does not contain a pattern."""
    return rf"\A(?![\s\S]*{pattern})", ""


#: Linux 7.2 itself preserves all registers over page faults.
_REGISTERS_KEPT = (
    r"^static void get_skas_faultinfo\(int pid, struct faultinfo \*fi\)$",
    r"\g<0>",
)

_MASK = "masking interrupts, without signals of the host, is setting a variable"

_DRAWS = "a run must report which functions drew random numbers"
_UNMIXED = "parts of Linux that only programs need must not change the random numbers"
_POLLING = "programs that wait without sleeping must see time pass"
_PAGE_CLOCK = "programs read the clock a thousand times as fast without a system call"
_NEAR = "in the large code model, which modules far from the kernel need, every call is slow"
_HUGE = "a guest in huge pages misses fewer translations of addresses"
_TSC = "programs must not see the host's time"

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
    # Who draws them decides whether all seeds give the same run.
    Edit(
        file="drivers/char/random.c",
        find=r"^#include <asm/io\.h>$",
        replace=r'\g<0>\n#include "ccbench_draws.h"',
        reason=_DRAWS,
    ),
    Edit(
        file="drivers/char/random.c",
        find=r"^void get_random_bytes\(void \*buf, size_t len\)\n\{\n",
        replace=r"\g<0>\tccbench_drew(_RET_IP_);\n",
        reason=_DRAWS,
    ),
    Edit(
        file="drivers/char/random.c",
        find=r"^(type get_random_ ##type\(void\)\s+\\\n\{\s+\\\n(?:\t\w.*;\s+\\\n)+)",
        replace=r"\1\tccbench_drew(_RET_IP_);\t\t\t\t\t\t\\\n",
        reason=_DRAWS,
    ),
    Edit(
        file="drivers/char/random.c",
        find=r"^u32 __get_random_u32_below\(u32 ceil\)\n\{\n(?:.*\n){1,12}?\tu64 mult;\n",
        replace=r"\g<0>\n\tccbench_drew(_RET_IP_);\n",
        reason=_DRAWS,
    ),
    Edit(
        file="init/main.c",
        find=r"^int __init_or_module do_one_initcall\(initcall_t fn\)$",
        replace=r'#include "ccbench_initcalls.h"\n\n\g<0>',
        reason=_UNMIXED,
    ),
    Edit(
        file="init/main.c",
        find=r"^\tadd_latent_entropy\(\);$",
        replace=r"\tif (ccbench_mixes_after(fn))\n\t\tadd_latent_entropy();",
        reason=_UNMIXED,
    ),
    # Without this sign, Linux up to 6.5, and 6.1 before the fix, ignores the start time and uses
    # the host's time.
    Edit(
        file="arch/um/kernel/time.c",
        find=r'^__setup\("time-travel-start=?",',
        replace='__setup("time-travel-start=",',
        reason="the guest's date, which its random numbers depend on, must not be the host's",
    ),
    # The guest's memory begins at the end of the process's heap. Hosts randomize the heap's address
    # by up to 1 GB, and the kernel adds the gap to its memory: the amount of memory, and with it
    # TCP limits and hash sizes, would vary between runs, and its initialization would take time.
    # With these edits, the memory begins directly after the program, and the host creates no heap.
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"\bbrk_start = \(unsigned long\) ?sbrk\(0\);",
        replace="brk_start = (unsigned long) &_end;",
        reason="the guest's memory must not depend on where the host has put the heap",
    ),
    Edit(
        file="arch/um/kernel/mem.c",
        find=r"\bbrk_end = .*\bsbrk\(0\)\);",
        replace="brk_end = (brk_start + PAGE_SIZE - 1) & PAGE_MASK;",
        reason="the guest's memory must not depend on where the host has put the heap",
    ),
    Edit(
        file="arch/um/os-Linux/mem.c",
        find=r"^#include <os\.h>$",
        replace=r"#include <os.h>\n#include <ccbench_memory.h>",
        reason=_HUGE,
    ),
    Edit(
        file="arch/um/os-Linux/mem.c",
        find=r"^(int __init create_mem_file\(.*\n(?:.*\n){1,4}?)\tfd = create_tmp_file\(len\);$",
        replace=r"\1\tfd = ccbench_memory_file(len);\n"
        r"\tif (fd < 0)\n\t\tfd = create_tmp_file(len);",
        reason=_HUGE,
    ),
    Edit(
        file="arch/um/os-Linux/main.c",
        find=r"^#include <stdlib\.h>$",
        replace=r"#include <stdlib.h>\n#include <ccbench_process.h>\n#include <ccbench_heap.h>",
        reason="the guest must make no heap, and end with the process that started it",
    ),
    Edit(
        file="arch/um/os-Linux/main.c",
        find=r"^\tset_stklim\(\);$",
        replace=r"\tset_stklim();\n\tccbench_prepare_process();",
        reason="the guest must make no heap, and end with the process that started it",
    ),
    # Otherwise the processes that run the guest's programs may outlive it and make system calls on
    # the host: before Linux 6.12 always, later if the kernel's process is killed at its start.
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
        # In 7.2, the process is another program, which keeps the signal at its parent's end.
        otherwise=(
            (
                r"^static int userspace_tramp\(.*\n\{\n(?:.*\n){1,8}?\tint ret;\n",
                r"\g<0>\n\tccbench_prepare_program();\n",
            ),
        ),
        reason="the processes that the guest's kernel makes must end with it",
    ),
    # Since Linux 6.16, programs may be trapped by seccomp instead of ptrace (trapping.py). The next
    # edits make this mode equal to ptrace: the same bytes, and the same ends and stops.
    Edit(
        file="arch/um/os-Linux/start_up.c",
        find=r"^static int __init seccomp_helper\(void \*data\)\n\{\n(?:.*\n){1,15}?"
        r"\tstruct sigaction sa;\n",
        replace=r"#include <ccbench_children.h>\n\n"
        r"\g<0>\n\tccbench_end_with(ccbench_kernel_process);\n",
        otherwise=(_without("seccomp_helper"),),
        reason="the processes that the guest's kernel makes must end with it",
    ),
    Edit(
        file="arch/um/os-Linux/start_up.c",
        find=r"^\tset_sigstack\((seccomp_test_stub_data->sigstack,\n.*)\);$",
        replace=r"\tif (ccbench_set_handler_stack(\1))\n\t\t_exit(2);",
        otherwise=(_without("seccomp_test_stub_data"),),
        reason="hosts whose signals need more stack than programs' processes have use ptrace",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^(\tif \(using_seccomp\) \{\n)(\t\twait_stub_done_seccomp\(mm_id, 1, 1\);)$",
        replace=r"\1\t\tif (kill(mm_id->pid, 0))\n"
        r"\t\t\tmm_id->pid = -1; /* SIGCHLD came before the number was known */\n\2",
        otherwise=(_without("wait_stub_done_seccomp"),),
        reason="a program's process that cannot start must end the guest, not hang it",
    ),
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^(static void \(\*handlers\[_NSIG\]\)\(.*\n(?:.*\n){1,20}?\t\[SIGCHLD\] = )"
        r"sig_handler,$",
        replace=r"#include <ccbench_children.h>\n\n\g<1>ccbench_child_handler,",
        otherwise=(_without("SIGCHLD"),),
        reason="the ends and stops of programs' processes must not interrupt the guest",
    ),
    Edit(
        file="arch/um/kernel/skas/mmu.c",
        find=r"^static int __init init_child_tracking\(void\)$",
        replace=r"#include <ccbench_children.h>\n\nvoid ccbench_check_children(void)\n{\n"
        r"\tmm_sigchld_irq(SIGCHLD_IRQ, NULL);\n}\n\n\g<0>",
        otherwise=(_without("SIGCHLD"),),
        reason="the ends and stops of programs' processes must not interrupt the guest",
    ),
    Edit(
        file="arch/um/os-Linux/process.c",
        find=r"^pid_t os_reap_child\(void\)\n\{\n(?:.*\n){1,6}?\}$",
        replace=r"#include <ccbench_children.h>\n\npid_t os_reap_child(void)\n{\n"
        r"\treturn ccbench_reap_child();\n}",
        otherwise=(_without("os_reap_child"),),
        reason="who stops a process of the guest's program does not stop the guest",
    ),
    # Debuggers, job control and freezers send these signals. The guest's kernel would treat the
    # stop as a fault of its program and panic.
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
    # The host transfers the state of its vector units only as a whole. The guest kernel's buffer is
    # too small on processors with matrix registers (AMX), and it would panic. A program in the
    # guest is a process of the host, which preserves its vector registers while it is not running;
    # the next edits preserve them over page faults. (Threads of a program share them: see init.c.)
    Edit(
        file="arch/x86/um/os-Linux/registers.c",
        find=r"\bhave_xstate_support = 1;",
        replace="have_xstate_support = 0;",
        otherwise=((r"\bptrace_regset = NT_X86_XSTATE;", r"\g<0>"),),  # a buffer of the host's size
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
        otherwise=(_REGISTERS_KEPT,),
        reason="programs must find their vector registers as they were before a page fault",
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"\bput_fp_registers\(pid, aux_fp_regs\)",
        replace="ccbench_restore_registers(pid, aux_fp_regs)",
        otherwise=(_REGISTERS_KEPT,),
        reason="programs must find their vector registers as they were before a page fault",
    ),
    # With a coarser clock, most timers fire early by that clock, and then again.
    Edit(
        file="arch/um/include/linux/time-internal.h",
        find=r"^(#define TIMER_MULTIPLIER )\d+$",
        replace=r"\g<1>1",
        reason="the guest's clock counts nanoseconds",
    ),
    # Otherwise a timer may fire half a microsecond late if another one fired just before it.
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
    # The registers of a timer interrupt are 3 KB with floating-point state, which is never read.
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^(static void timer_real_alarm_handler\(.*\n(?:.*\n){1,6}?)"
        r"(\t\t)memset\(&regs, 0, sizeof\(regs\)\);$",
        replace=r"\g<1>\g<2>memset(regs.gp, 0, sizeof(regs.gp)), regs.is_user = 0;",
        reason="a timer interrupt clears no more of its registers than is looked at",
    ),
    # Linux itself does so only for bad pointers.
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^(static void sig_handler_common\(.*\n(?:.*\n){1,8}?\tif \()sig == SIGSEGV\) \{$",
        replace=r"\g<1>sig != SIGIO && sig != SIGWINCH) {",
        reason="a division by zero and the like, too, must show where it happened",
    ),
    # A stack access through a non-canonical pointer is a bus error, too, without an address.
    Edit(
        file="arch/um/kernel/trap.c",
        find=r"^\t\tif \(sig == SIGBUS\)$",
        replace="\t\tif (sig == SIGBUS && si->si_code == BUS_ADRERR)",
        reason="only a page that the host could not give means that the host lacks memory",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r'^(\t\t)panic\("Kernel mode signal %d", sig\);$',
        replace=r"\1current->thread.segv_regs = container_of(regs, struct pt_regs, regs);\n"
        r"\1show_regs(current->thread.segv_regs);\n"
        # boot.py ends a hung guest with SIGTRAP.
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
        file="arch/um/kernel/uml.lds.S",
        find=r"^([ \t]+)INIT_TASK_DATA\(",
        replace=r"\1. = ALIGN(4096);\1ccbench_stack_guard = .;\1. += 4096;\g<0>",
        reason="a stack that overflows must not write over the kernel's data",
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r"^#include <os\.h>$",
        replace=r'\g<0>\n#include "ccbench_crash.h"\n#include "ccbench_tsc.h"',
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
    # Linux 7.2 has a table of interrupts of its own.
    Edit(
        file="arch/um/kernel/irq.c",
        find=r"^DEFINE_PER_CPU_SHARED_ALIGNED\(irq_cpustat_t, irq_stat\);$",
        replace=r"\g<0>\nEXPORT_PER_CPU_SYMBOL(irq_stat);",
        otherwise=(_without(r"DEFINE_PER_CPU\w+\(irq_cpustat_t"),),
        reason="the emulated path asks whether softirqs are pending",
    ),
    # The size of a task is that of the registers of the host's processor, and with it the number of
    # tasks in a page.
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"^\tarch_task_struct_size = sizeof\(struct task_struct\) \+ host_fp_size;$",
        replace="\tarch_task_struct_size = sizeof(struct task_struct) + "
        "max(host_fp_size, CCBENCH_REGISTERS);",
        otherwise=(_without(r"\tarch_task_struct_size = "),),
        reason="the guest's memory must not depend on the host's processor",
    ),
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"^#include <kern_util\.h>$",
        replace=r"\g<0>\n\n/* More than the registers of any processor take. */\n"
        "#define CCBENCH_REGISTERS\t12288UL",
        reason="the guest's memory must not depend on the host's processor",
    ),
    Edit(
        file="arch/um/kernel/skas/syscall.c",
        find=r"^void handle_syscall\(struct uml_pt_regs \*r\)$",
        replace=r'#include "ccbench_polling.h"\n\n\g<0>',
        reason=_POLLING,
    ),
    Edit(
        file="arch/um/kernel/skas/syscall.c",
        find=r"^(\t\t\tum_udelay\(1\);\n\t\t\tschedule\(\);\n\t\t\})$",
        replace=r"\1 else {\n\t\t\tccbench_called();\n\t\t}",
        reason=_POLLING,
    ),
    Edit(
        file="arch/um/kernel/time.c",
        find=r"^(void time_travel_sleep\(void\)\n\{\n(?:.*\n){1,16}?)"
        r"(\ttime_travel_update_time\(next, true\);)$",
        replace=r"extern void ccbench_all_sleep(void);\n\n\1\tccbench_all_sleep();\n\2",
        reason=_POLLING,
    ),
    Edit(
        file="arch/um/os-Linux/skas/process.c",
        find=r"^(void userspace\(struct uml_pt_regs \*regs.*\)\n\{\n(?:.*\n){1,16}?)"
        r"(\twhile \(1\) \{)$",
        replace=r"extern void ccbench_publish_time(void);\n\n\1\2\n\t\tccbench_publish_time();",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/um_vdso.c",
        find=r"^#include <asm/unistd\.h>$",
        replace=r'\g<0>\n#include "ccbench_vdso.h"',
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/um_vdso.c",
        find=r"^int __vdso_clock_gettime\(.*\n\{\n\tlong ret;\n",
        replace=r"\g<0>\tunsigned long long ns;\n\n\tif (ccbench_read_clock(clock, &ns)) {\n"
        r"\t\tts->tv_sec = ns / 1000000000;\n\t\tts->tv_nsec = ns % 1000000000;\n"
        r"\t\treturn 0;\n\t}\n",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/um_vdso.c",
        find=r"^int __vdso_gettimeofday\(.*\n\{\n\tlong ret;\n",
        replace=r"\g<0>\tunsigned long long ns;\n\n"
        r"\tif (tv && !tz && ccbench_read_clock(0, &ns)) {\n"
        r"\t\ttv->tv_sec = ns / 1000000000;\n\t\ttv->tv_usec = ns % 1000000000 / 1000;\n"
        r"\t\treturn 0;\n\t}\n",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/vma.c",
        find=r"^#include <linux/init\.h>$",
        replace=r'\g<0>\n#include "ccbench_page_clock.h"',
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/vma.c",
        find=r"^\tcopy_page\(page_address\(um_vdso\), vdso_start\);$",
        replace=r"\g<0>\n\tccbench_set_clock(um_vdso);",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/vma.c",
        find=r"^\t\tVM_READ\|VM_EXEC\|$",
        replace=r"\t\tVM_READ|VM_WRITE|VM_EXEC|VM_SHARED|VM_MAYSHARE|",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/x86/um/vdso/vma.c",
        find=r"^\tmmap_write_unlock\(mm\);$",
        replace=r"\tccbench_map_clock(mm, um_vdso_addr);\n\n\g<0>",
        reason=_PAGE_CLOCK,
    ),
    Edit(
        file="arch/um/kernel/trap.c",
        find=r"^\tif \(UPT_IS_USER\(regs\) && !SEGV_IS_FIXABLE\(fi\)\) \{$",
        replace=r"\g<0>\n\t\tif (ccbench_read_tsc())\n\t\t\treturn;",
        reason=_TSC,
    ),
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"^#include <kern_util\.h>$",
        replace=r'\g<0>\n#include "ccbench_ipv6.h"',
        reason="IPv6 must not change the random numbers of runs without it",
    ),
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"^\tos_check_bugs\(\);$",
        replace=r"\g<0>\n\tccbench_disable_ipv6();",
        reason="IPv6 must not change the random numbers of runs without it",
    ),
    # Masking interrupts is two function calls on this architecture. Since Linux 7.2, each thread of
    # the kernel has a mask; without CONFIG_SMP, there is one.
    Edit(
        file="arch/um/include/asm/irqflags.h",
        find=r"^void unblock_signals\(void\);$",
        replace=r"\g<0>\n\n#include <shared/ccbench_signals.h>",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/include/asm/irqflags.h",
        find=r"\bum_get_signals\(\);$",
        replace="signals_enabled;",
        otherwise=((r"\breturn signals_enabled;", r"\g<0>"),),
        reason=_MASK,
    ),
    Edit(
        file="arch/um/include/asm/irqflags.h",
        find=r"^\tum_set_signals\(flags\);$",
        replace=r"\tccbench_restore_signals(flags);",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/include/asm/irqflags.h",
        find=r"^\tunblock_signals\(\);$",
        replace=r"\tccbench_unmask_signals();",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/include/asm/irqflags.h",
        find=r"^\tblock_signals\(\);$",
        replace=r"\tccbench_mask_signals();",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^__thread (int signals_enabled;)$",
        replace=r"\1",
        otherwise=((r"^int signals_enabled;$", r"\g<0>"),),
        reason=_MASK,
    ),
    Edit(
        file="arch/um/os-Linux/signal.c",
        find=r"^static (?:__thread )?(unsigned int signals_pending;)$",
        replace=r"\1",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/os-Linux/internal.h",
        find=r"^extern __thread (int signals_enabled;)$",
        replace=r"extern \1",
        otherwise=(_without("extern __thread int signals_enabled"),),
        moved_to="arch/um/os-Linux/signal.c",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/kernel/time.c",
        find=r"^static (LIST_HEAD\(time_travel_irqs\);)$",
        replace=r"\1\nEXPORT_SYMBOL(time_travel_irqs);",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/kernel/ksyms.c",
        find=r"^EXPORT_SYMBOL\(um_set_signals\);$",
        replace="EXPORT_SYMBOL(signals_pending);",
        reason=_MASK,
    ),
    Edit(
        file="arch/um/kernel/ksyms.c",
        find=r"^EXPORT_SYMBOL\(um_get_signals\);$",
        replace="EXPORT_SYMBOL(signals_enabled);",
        otherwise=((r"^EXPORT_SYMBOL\(signals_enabled\);$", r"\g<0>"),),
        reason=_MASK,
    ),
    # Linux for processors has no such flag: small copies and comparisons are no function calls.
    Edit(
        file="arch/x86/Makefile.um",
        find=r"^(KBUILD_CFLAGS \+= )-fno-builtin (-m64) *$",
        replace=r"\1\2",
        reason="copies of a few bytes are as fast as on a processor",
    ),
    # Newer versions of the C library have it only for programs that were linked long ago.
    Edit(
        file="arch/um/os-Linux/user_syms.c",
        find=r"^EXPORT_SYMBOL_PROTO\(__xmknod\);$",
        replace="",
        otherwise=(_without("__xmknod"),),
        reason="a statically linked kernel can export only what the static C library has",
    ),
    # The kernel itself is below 2 GB; with these edits, its modules are, too.
    Edit(
        file="arch/um/Makefile",
        find=r"^\tKBUILD_CFLAGS \+= -mcmodel=large$",
        replace="",
        reason=_NEAR,
    ),
    Edit(
        file="arch/um/include/asm/pgtable.h",
        find=r"^#define MODULES_VADDR\tVMALLOC_START$",
        replace=r"#define MODULES_VADDR\t0x40000000UL",
        reason=_NEAR,
    ),
    Edit(
        file="arch/um/include/asm/pgtable.h",
        find=r"^#define MODULES_END\tVMALLOC_END$",
        replace=r"#define MODULES_END\t0x50000000UL",
        reason=_NEAR,
    ),
    Edit(
        file="arch/um/kernel/um_arch.c",
        find=r"^#include <kern_util\.h>$",
        replace=r'\g<0>\n#include "ccbench_modules.h"',
        reason=_NEAR,
    ),
)

#: Additional files for the edits: paths in the kernel's tree, and in the folder of module sources.
ADDITIONS = {
    "arch/um/include/shared/ccbench_children.h": "um/children.h",
    "arch/um/kernel/ccbench_clock.h": "um/clock.h",
    "arch/um/kernel/ccbench_crash.h": "um/crash.h",
    "arch/um/kernel/ccbench_ipv6.h": "um/ipv6.h",
    "arch/um/kernel/ccbench_modules.h": "um/modules.h",
    "arch/um/kernel/ccbench_tsc.h": "um/tsc.h",
    "arch/x86/um/vdso/ccbench_page_clock.h": "um/page_clock.h",
    "arch/um/include/shared/ccbench_vdso.h": "um/vdso.h",
    "arch/um/kernel/skas/ccbench_polling.h": "um/polling.h",
    "init/ccbench_initcalls.h": "um/initcalls.h",
    "arch/um/os-Linux/ccbench_entropy.h": "um/entropy.h",
    "drivers/char/ccbench_draws.h": "um/draws.h",
    "arch/um/os-Linux/ccbench_random_stream.h": "include/random_stream.h",
    "arch/um/include/shared/ccbench_heap.h": "um/heap.h",
    "arch/um/include/shared/ccbench_memory.h": "um/memory.h",
    "arch/um/include/shared/ccbench_process.h": "um/process.h",
    "arch/um/include/shared/ccbench_registers.h": "um/registers.h",
    "arch/um/include/shared/ccbench_signals.h": "um/signals.h",
}


def apply_edits(
    tree: Path, edits: Iterable[Edit], additions: Mapping[str, str], *, hz: int
) -> None:
    """Edit a kernel's source tree in place, with all edits or none.

    Parameters
    ----------
    tree : Path
        A copy of the source.
    edits : iterable of Edit
        The edits, applied in order.
    additions : mapping of str to str
        Files to add: paths in the tree and contents.
    hz : int
        Timer ticks per second.

    Raises
    ------
    InputError
        If an edit does not apply to the tree.
    """
    texts: dict[Path, str] = {}
    for edit in edits:
        file = tree / edit.file
        if edit.moved_to and not file.exists():
            file = tree / edit.moved_to
        try:
            text = texts.get(file) or file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(
                f"source: there is no {edit.file}, so this is not the source of a Linux kernel "
                "that runs in user mode; name a complete kernel tree or tarball, 6.1 or newer"
            ) from None
        texts[file] = edit.applied(text, hz=hz)
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    for target, added in additions.items():
        (tree / target).write_text(added, encoding="utf-8")
