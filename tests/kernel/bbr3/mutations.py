# SPDX-License-Identifier: Apache-2.0
"""Faulty variants of the module `tcp_bbr3`, each of which fails a test case of the draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.emulate.kernel.source.home import sources_dir
from ccbench.studies.bbr3.case import Point

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["MUTATIONS", "Mutation", "write_modules"]

_MODULE = "tcp_bbr3"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A fault of the module.

    Parameters
    ----------
    case : str
        The test case that it fails.
    point : Point
        A path on which it fails, and on which the module itself behaves.
    fault : str
        The fault, in words.
    file : str
        The C file.
    find : str
        A text that occurs exactly once in it.
    replace : str
        The text in its place.
    is_visible : bool
        Whether TCP's own state shows the fault: the case then does not hold by the wire either.
    """

    case: str
    point: Point
    fault: str
    file: str
    find: str
    replace: str
    is_visible: bool = True

    @property
    def edit(self) -> tuple[str, str, str]:
        """The file, and the texts before and after."""
        return self.file, self.find, self.replace

    def applied(self, text: str) -> str:
        """Return the text of the file with the fault.

        Raises
        ------
        ValueError
            If not exactly one place matches.

        Examples
        --------
        >>> fault = Mutation(
        ...     case="rtt", point=Point(10, 10), fault="", file="a.c", find="a", replace="b"
        ... )
        >>> fault.applied("cat")
        'cbt'
        """
        count = text.count(self.find)
        if count != 1:
            raise ValueError(f"{self.file} has {count} matches, not 1, for: {self.fault}")
        return text.replace(self.find, self.replace)


MUTATIONS = (
    Mutation(
        case="startup-plateau",
        point=Point(10, 10),
        fault="two rounds without growth, not three, show a full pipe",
        file="startup.c",
        find="#define FULL_BW_ROUNDS\t3",
        replace="#define FULL_BW_ROUNDS\t2",
        is_visible=False,
    ),
    Mutation(
        case="startup-plateau",
        point=Point(10, 10),
        fault="a full pipe in Startup is followed by ProbeBW, without Drain",
        file="phases.c",
        find="\tbbr->phase = BBR3_DRAIN;\n",
        replace="\tbbr->phase = BBR3_UP;\n",
    ),
    Mutation(
        case="startup-loss",
        point=Point(100, 100),
        fault="losses do not end Startup",
        file="startup.c",
        find="bbr->phase == BBR3_STARTUP && is_startup_loss_high(",
        replace="false && is_startup_loss_high(",
    ),
    Mutation(
        case="drain-inflight",
        point=Point(10, 10),
        fault="the pacing gain of Drain is 0.75",
        file="settings.c",
        find="SETTING(drain_pacing_gain_percent, 50,",
        replace="SETTING(drain_pacing_gain_percent, 75,",
    ),
    Mutation(
        case="drain-inflight",
        point=Point(10, 10),
        fault="Drain ends at one and a half times the target",
        file="startup.c",
        find="<= bbr3_inflight(sk, bbr, bbr->bw) ||",
        replace="<= bbr3_inflight(sk, bbr, bbr->bw) * 3 / 2 ||",
    ),
    Mutation(
        case="drain-time-70",
        point=Point(10, 10),
        fault="Drain never ends by time",
        file="startup.c",
        find="> DRAIN_ROUNDS)",
        replace="> 1000 * DRAIN_ROUNDS)",
    ),
    Mutation(
        case="drain-time-70",
        point=Point(10, 10),
        fault="Drain ends after one round",
        file="startup.c",
        find="#define DRAIN_ROUNDS\t3",
        replace="#define DRAIN_ROUNDS\t1",
    ),
    Mutation(
        case="up-plateau",
        point=Point(10, 10),
        fault="UP does not end at a plateau",
        file="probe_bw.c",
        find="\treturn bbr->full_bw_now;\n",
        replace="\treturn false;\n",
    ),
    Mutation(
        case="up-plateau",
        point=Point(10, 10),
        fault="the pacing gain of UP is 1.1",
        file="settings.c",
        find="SETTING(up_pacing_gain_percent, 125,",
        replace="SETTING(up_pacing_gain_percent, 110,",
    ),
    Mutation(
        case="up-loss-app",
        point=Point(1000, 1),
        fault="losses do not end UP",
        file="loss.c",
        find="\t\tbbr3_start_probe_bw_down(sk, bbr);\n",
        replace="",
        is_visible=False,
    ),
    Mutation(
        case="up-app",
        point=Point(100, 10),
        fault="application-limited rounds count as rounds without growth",
        file="startup.c",
        find="!bbr->round_start || rs->is_app_limited || !rs->delivery_rate",
        replace="!bbr->round_start || !rs->delivery_rate",
    ),
    Mutation(
        case="startup-app",
        point=Point(10, 10),
        fault="application-limited rounds count as rounds without growth",
        file="startup.c",
        find="!bbr->round_start || rs->is_app_limited || !rs->delivery_rate",
        replace="!bbr->round_start || !rs->delivery_rate",
    ),
    Mutation(
        case="down-inflight",
        point=Point(10, 10),
        fault="the pacing gain of DOWN is 0.8",
        file="settings.c",
        find="SETTING(down_pacing_gain_percent, 90,",
        replace="SETTING(down_pacing_gain_percent, 80,",
    ),
    Mutation(
        case="down-inflight",
        point=Point(100, 10),
        fault="CRUISE begins before the queue is empty",
        file="probe_bw.c",
        find="\t       inflight <= bbr3_inflight(sk, bbr, bbr->max_bw);",
        replace="\t       inflight <= 2 * bbr3_inflight(sk, bbr, bbr->max_bw);",
    ),
    Mutation(
        case="down-time-30",
        point=Point(100, 10),
        fault="DOWN has no greatest length",
        file="probe_bw.c",
        find="\tcase BBR3_DOWN:\n\t\tif (is_time_to_probe_bw(sk, bbr))",
        replace="\tcase BBR3_DOWN:\n\t\tif (false)",
    ),
    Mutation(
        case="down-time-30",
        point=Point(100, 10),
        fault="DOWN ends by time in CRUISE",
        file="probe_bw.c",
        find="\tcase BBR3_DOWN:\n\t\tif (is_time_to_probe_bw(sk, bbr))\n"
        "\t\t\tbbr3_start_probe_bw_refill(sk, bbr);",
        replace="\tcase BBR3_DOWN:\n\t\tif (is_time_to_probe_bw(sk, bbr))\n"
        "\t\t\tbbr->phase = BBR3_CRUISE;",
        is_visible=False,
    ),
    Mutation(
        case="rtt",
        point=Point(10, 10),
        fault="the gain of the window in ProbeRTT is 1",
        file="settings.c",
        find="SETTING(probe_rtt_cwnd_gain_percent, 50,",
        replace="SETTING(probe_rtt_cwnd_gain_percent, 100,",
    ),
    Mutation(
        case="rtt",
        point=Point(10, 10),
        fault="ProbeRTT takes one round, however short it is",
        file="settings.c",
        find="SETTING(probe_rtt_duration_ms, 200,",
        replace="SETTING(probe_rtt_duration_ms, 0,",
    ),
    Mutation(
        case="rtt",
        point=Point(10, 10),
        fault="the interval between ProbeRTTs is 7 s",
        file="settings.c",
        find="SETTING(probe_rtt_interval_ms, 5000,",
        replace="SETTING(probe_rtt_interval_ms, 7000,",
    ),
    Mutation(
        case="rtt-idle",
        point=Point(10, 10),
        fault="idle_restart is never set",
        file="main.c",
        find="\tbbr->idle_restart = true;\n",
        replace="",
    ),
    Mutation(
        case="rtt-idle",
        point=Point(10, 10),
        fault="ProbeRTT begins after a pause",
        file="probe_rtt.c",
        find="bbr->probe_rtt_expired && !bbr->idle_restart)",
        replace="bbr->probe_rtt_expired)",
    ),
    Mutation(
        case="aggregation-startup",
        point=Point(10, 100),
        fault="aggregation is not measured before the pipe is full",
        file="model.c",
        find="\textra = min_t(u64, bbr->extra_acked_delivered - expected, tcp_snd_cwnd(tp));\n",
        replace="\textra = bbr->extra_acked_delivered - expected;\n"
        "\textra = bbr->full_bw_reached ? min(extra, tcp_snd_cwnd(tp)) : 0;\n",
        is_visible=False,
    ),
    Mutation(
        case="aggregation-cruise",
        point=Point(10, 100),
        fault="the window has no room for aggregates when the pipe is full",
        file="control.c",
        find="bdp + bbr->extra_acked)",
        replace="bdp + (bbr->full_bw_reached ? 0 : bbr->extra_acked))",
    ),
    Mutation(
        case="tiny-bdp",
        point=Point(10, 1),
        fault="the least window is 1 packet",
        file="control.c",
        find="#define MIN_PIPE_CWND\t4",
        replace="#define MIN_PIPE_CWND\t1",
    ),
    Mutation(
        case="faster",
        point=Point(10, 100),
        fault="inflight_longterm does not grow in UP",
        file="probe_bw.c",
        find="(u64)bbr->inflight_longterm + delta,",
        replace="(u64)bbr->inflight_longterm,",
    ),
    Mutation(
        case="faster",
        point=Point(10, 100),
        fault="inflight_longterm grows by one packet per round",
        file="probe_bw.c",
        find="u32 growth_this_round = 1U << bbr->bw_probe_up_rounds;",
        replace="u32 growth_this_round = 1;",
    ),
    Mutation(
        case="slower",
        point=Point(10, 10),
        fault="the maximum of the bandwidth is never forgotten",
        file="model.c",
        find="\tbbr->max_bw_of_cycle[1] = 0;\n",
        replace="",
    ),
    Mutation(
        case="slower",
        point=Point(10, 10),
        fault="losses do not change the short-term model",
        file="model.c",
        find="\tif (is_probing_bw(bbr) || !bbr->is_loss_in_round)\n",
        replace="\tif (true)\n",
        is_visible=False,
    ),
    Mutation(
        case="policer",
        point=Point(1000, 10),
        fault="losses do not change the short-term model",
        file="model.c",
        find="\tif (is_probing_bw(bbr) || !bbr->is_loss_in_round)\n",
        replace="\tif (true)\n",
    ),
    Mutation(
        case="undo-recovery",
        point=Point(100, 10),
        fault="an undo does not restore inflight_longterm",
        file="loss.c",
        find="max(bbr->inflight_longterm, bbr->undo_inflight_longterm);",
        replace="bbr->inflight_longterm;",
    ),
    Mutation(
        case="undo-recovery",
        point=Point(100, 10),
        fault="an undo does not return to UP",
        file="loss.c",
        find="\t\tbbr3_start_probe_bw_refill(sk, bbr);\n",
        replace="",
    ),
    Mutation(
        case="undo-timeout",
        point=Point(100, 10),
        fault="a timeout is not undone",
        file="main.c",
        find="\tif (bbr)\n\t\tbbr3_handle_spurious_loss_detection(sk, bbr);\n",
        replace="\tif (bbr && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)\n"
        "\t\tbbr3_handle_spurious_loss_detection(sk, bbr);\n",
    ),
    Mutation(
        case="startup-rtt",
        point=Point(10, 10),
        fault="ProbeRTT is always followed by ProbeBW",
        file="probe_rtt.c",
        find="\tif (bbr->full_bw_reached) {\n",
        replace="\tif (true) {\n",
        is_visible=False,
    ),
    Mutation(
        case="up-loss",
        point=Point(100, 10),
        fault="losses in UP do not reduce inflight_longterm",
        file="loss.c",
        find="\tif (!rs->is_app_limited)\n",
        replace="\tif (bbr->phase != BBR3_UP)\n",
    ),
    Mutation(
        case="up-loss",
        point=Point(100, 10),
        fault="losses do not end UP",
        file="loss.c",
        find="\t\tbbr3_start_probe_bw_down(sk, bbr);\n",
        replace="",
    ),
    Mutation(
        case="refill-app",
        point=Point(10, 100),
        fault="an application-limited sample below the maximum replaces it",
        file="model.c",
        find="(rs->delivery_rate < bbr->max_bw && rs->is_app_limited))\n",
        replace="(rs->delivery_rate < bbr->max_bw && rs->is_app_limited &&\n"
        "\t\t\t\t   (bbr->max_bw = rs->delivery_rate)))\n",
    ),
    Mutation(
        case="refill-app",
        point=Point(10, 100),
        fault="REFILL is followed by CRUISE",
        file="probe_bw.c",
        find="\t\tif (bbr->round_start) {\n",
        replace="\t\tif (bbr->round_start) {\n"
        "\t\t\tbbr3_start_probe_bw_cruise(bbr);\n"
        "\t\t} else if (false) {\n",
    ),
)


def write_modules(folder: Path, mutations: Mapping[str, Mutation]) -> None:
    """Write the sources of a module per fault, by the names of their congestion controls.

    Each is one C file, with the contents of the module's files one after another. They compile
    faster than 34 modules of ten files, without debugging information.
    """
    home = sources_dir() / _MODULE
    folder.mkdir()
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(home.glob("*.c"))}
    (folder / "bbr3.h").write_bytes((home / "bbr3.h").read_bytes())
    names = []
    for name, mutation in mutations.items():
        mutant = {**texts, mutation.file: mutation.applied(texts[mutation.file])}
        text = "\n".join(mutant.values())
        text = text.replace('"bbr3"', f'"{name}"').replace("CCA(bbr3,", f"CCA({name},")
        (folder / f"tcp_{name}.c").write_text(text, encoding="utf-8")
        names.append(f"tcp_{name}.o")
    kbuild = f"obj-m := {' '.join(names)}\nccflags-y := -g0 -O1\n"
    (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
