# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and the kinds of values that options take."""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import durable, validation
from ccbench.experiment.noise import NO_NOISE, Noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.emulate.engine import Engine

__all__ = [
    "NoiseChoice",
    "alpha_option",
    "bandwidth_option",
    "bess_dir_option",
    "beta_option",
    "check_ccas",
    "check_folder_of",
    "completes",
    "duration_option",
    "engine_named",
    "engine_options",
    "jobs_option",
    "json_option",
    "kernel_option",
    "noise_options",
    "plain_value",
    "qdisc_options",
    "quantity",
    "queue_option",
    "rtt_option",
    "scheduler_option",
    "seed_option",
]


def quantity(unit: str, *, or_zero: bool = False) -> Callable[[str | float], float]:
    """Return what reads a finite number above 0, or from 0 on, of a unit that messages name.

    Examples
    --------
    >>> quantity("Mbit/s")("50")
    50.0
    """

    def read(text: str | float) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (0 < number < math.inf or (or_zero and number == 0)):
            allowed = "a number of 0 or more" if or_zero else "a number above 0"
            step = f": write the {unit} as a number alone" if unit else ""
            message = f"{text!r} is not {allowed}{step}"
            raise click.BadParameter(message)
        return number

    return read


def cca(text: str) -> str:
    """Read the name of a congestion control; which exist, the engine knows."""
    if not text:
        message = "it is empty; name a congestion control such as cubic"
        raise click.BadParameter(message)
    return text


def check_ccas(*given: tuple[str, str]) -> None:
    """Make sure that the virtual kernel has the congestion controls that options name."""
    from ccbench.emulate.engine import get_engine
    from ccbench.emulate.kernel.engine import KernelEngine

    engine = get_engine("kernel")
    if not isinstance(engine, KernelEngine):  # one that has taken its place, and checks for itself
        return
    known = engine.kernel.ccas
    for option, name in given:
        if name not in known:
            allowed = f"one of {', '.join(known)}"
            raise validation.bad(option, name, allowed, engine.hint(name))


def completes(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return what completes one of these names in a shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        return [name for name in names() if name.startswith(begun)]

    return complete


def _ccas() -> Iterable[str]:
    from ccbench.emulate.kernel.source.build import ready

    kernel = ready()  # what is not built yet has no names
    return () if kernel is None else kernel.ccas


def _engines() -> Iterable[str]:
    from ccbench.emulate.engine import ENGINES

    return ENGINES


def _qdiscs() -> Iterable[str]:
    from ccbench.experiment.qdiscs import QDISCS

    return QDISCS


def queue(text: str) -> dict[str, float | int]:
    """Read the length of a bottleneck's queue, as the setting that the library knows.

    Examples
    --------
    >>> queue("1.5bdp")
    {'queue_bdp': 1.5}
    >>> queue("64packets") == queue("64")
    True
    """
    setting: dict[str, float | int] = {}
    if match := re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*bdp\s*", text, re.ASCII | re.IGNORECASE):
        setting = {"queue_bdp": float(match[1])}
    elif match := re.fullmatch(r"\s*(\d{1,9})\s*(packets?)?\s*", text, re.ASCII | re.IGNORECASE):
        setting = {"queue_packets": int(match[1])}
    if not any(setting.values()):
        allowed = "a number of BDPs or of packets above 0, such as 1.5bdp or 64packets"
        message = f"{text!r} is not {allowed}"
        raise click.BadParameter(message)
    return setting


def setting(text: str) -> tuple[str, int | float | str | bool]:
    """Read a setting and its value, as :func:`plain_value` does.

    Examples
    --------
    >>> setting("eta=0.95"), setting("two_queues=true"), setting("feedback=enqueue")
    (('eta', 0.95), ('two_queues', True), ('feedback', 'enqueue'))
    """
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        message = f"{text!r} is not NAME=VALUE, such as target_ms=5"
        raise click.BadParameter(message)
    return name, plain_value(value)


def plain_value(text: str) -> int | float | str | bool:
    """Read a value as TOML would: a number, true or false, or else a word.

    Examples
    --------
    >>> plain_value("64"), plain_value("0.5"), plain_value("true"), plain_value("cubic")
    (64, 0.5, True, 'cubic')
    """
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text


def engine_named(name: str, bess_dir: Path | None, kernel: str | None = None) -> Engine:
    """Return what runs scenarios, as :data:`engine_options` and :data:`kernel_option` say."""
    from ccbench.emulate.engine import get_engine

    if kernel is not None:
        return _with_kernel(name, kernel)
    if bess_dir is None:
        return get_engine(name)
    if name != "bess":
        allowed = f"left out with --engine {name}"
        raise validation.bad("--bess-dir", str(bess_dir), allowed, "write --engine bess")
    from ccbench.emulate.bess.engine import BessEngine

    return BessEngine(bess_dir)


def _with_kernel(name: str, kernel: str) -> Engine:
    """Return the virtual kernel of a version."""
    from ccbench.emulate.kernel.engine import KernelEngine
    from ccbench.emulate.kernel.http import HttpKernelEngine
    from ccbench.emulate.kernel.source import build

    engines = {engine.name: engine for engine in (KernelEngine, HttpKernelEngine)}
    if name not in engines:
        allowed = f"left out with --engine {name}"
        raise validation.bad("--kernel", kernel, allowed, f"write --engine {KernelEngine.name}")
    built = build.find(kernel)
    if built is None:
        step = "build it with `ccbench kernel build --source`, and write what it says as version"
        raise validation.bad("--kernel", kernel, "the version of one that is built", step)
    return engines[name](kernel=built)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``engine`` and ``bess_dir``, for :func:`engine_named`."""
    engine = click.option(
        "--engine",
        shell_complete=completes(_engines),
        default="kernel",
        show_default=True,
        help="What runs scenarios: kernel (Linux in virtual time), kernel-http (the same, with "
        "nginx as the sender of bulk flows), or in real time on this machine mahimahi or bess.",
    )
    return engine(bess_dir_option(command))


def qdisc_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``qdisc`` and ``qdisc_settings`` of a bottleneck's queue."""
    qdisc = click.option(
        "--qdisc",
        shell_complete=completes(_qdiscs),
        metavar="NAME",
        default="droptail",
        show_default=True,
        help="The bottleneck's queue: droptail, or one that `ccbench kernel info` lists.",
    )
    settings = click.option(
        "--qdisc-option",
        "qdisc_settings",
        type=setting,
        metavar="NAME=VALUE",
        multiple=True,
        help="A setting of it, as in a scenario's qdisc_options; may be repeated.",
    )
    return qdisc(settings(command))


#: Kinds of noise that --jitter sets.
_JITTER = ("forward_jitter_ms", "reverse_jitter_ms")


@dataclass(frozen=True)
class NoiseChoice:
    """What options say of noise.

    Attributes
    ----------
    is_off : bool
        Whether there shall be none.
    values : dict of str to float
        Fields of :class:`~ccbench.experiment.noise.Noise` that take the place of others.
    """

    is_off: bool = False
    values: dict[str, float] = field(default_factory=dict)

    def over(self, noise: Noise) -> Noise:
        """Return the noise to run with, where it would be `noise` without options."""
        return NO_NOISE if self.is_off else replace(noise, **self.values)

    @classmethod
    def of(
        cls, settings: Iterable[tuple[str, object]], jitter: float | None, *, is_off: bool
    ) -> NoiseChoice:
        """Read the options; see :func:`noise_options`."""
        values: dict[str, Any] = dict(settings)
        kinds = [kind.name for kind in fields(Noise)]
        for name in values:
            if name not in kinds:
                with validation.within("--noise: "):
                    raise validation.unknown_key(name, kinds)
        if jitter is not None:
            for name in _JITTER:
                if name in values:
                    allowed = f"left out beside --noise {name}"
                    raise validation.bad("--jitter", jitter, allowed, "remove one of the two")
                values[name] = jitter
        if is_off and values:
            allowed = "left out with --no-noise"
            raise validation.bad("--noise", ", ".join(values), allowed, "remove one of the two")
        with validation.within("--noise: "):
            Noise(**values)
        return cls(is_off, values)


def noise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of noise, and the argument ``noise``: a :class:`NoiseChoice`."""

    @click.option(
        "--noise",
        "noise_settings",
        type=setting,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set a kind of noise, such as background_share=0.005; may be repeated. Kinds: "
        f"{', '.join(kind.name for kind in fields(Noise))}.",
    )
    @click.option(
        "--jitter",
        type=quantity("ms", or_zero=True),
        metavar="MS",
        help="Packets are delayed at random by up to this, in either direction: short for --noise "
        "forward_jitter_ms=MS --noise reverse_jitter_ms=MS.",
    )
    @click.option("--no-noise", is_flag=True, help="Run without noise: exact, and unlike testbeds.")
    @wraps(command)
    def with_noise(
        *,
        noise_settings: tuple[tuple[str, object], ...],
        jitter: float | None,
        no_noise: bool,
        **others: Any,
    ) -> Any:
        choice = NoiseChoice.of(noise_settings, jitter, is_off=no_noise)
        return command(noise=choice, **others)

    return with_noise


def check_folder_of(output: Path) -> None:
    """Make sure that a file can have its place: to be called before what takes long."""
    if output.is_dir():  # as the empty name is
        raise validation.bad("--output", str(output), "a file", "name one in it")
    place = Path(os.path.realpath(output)).parent  # behind a link
    if not place.is_dir():
        step = f"mkdir -p {place if output.is_symlink() else output.parent}"
        raise validation.bad("--output", str(output), "in a folder that is there", step)
    if not durable.is_possible(output):
        allowed = "where files can be written"
        raise validation.bad("--output", str(output), allowed, "choose another folder")


bess_dir_option = click.option(
    "--bess-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where BESS was built, for --engine bess.  [default: $CCBENCH_BESS_DIR]",
)
alpha_option = click.option(
    "--alpha",
    type=cca,
    required=True,
    metavar="CCA",
    shell_complete=completes(_ccas),
    help="The new congestion control.",
)
beta_option = click.option(
    "--beta",
    type=cca,
    required=True,
    metavar="CCA",
    shell_complete=completes(_ccas),
    help="The deployed one, which may be harmed.",
)
bandwidth_option = click.option(
    "--bandwidth",
    type=quantity("Mbit/s"),
    metavar="MBPS",
    required=True,
    help="Bottleneck rate in Mbit/s.",
)
rtt_option = click.option(
    "--rtt", type=quantity("ms"), metavar="MS", required=True, help="Base round-trip time in ms."
)
queue_option = click.option(
    "--queue",
    "queue_setting",
    type=queue,
    metavar="QUEUE",
    required=True,
    help="Bottleneck queue: 1.5bdp, or a number of packets such as 64.",
)
duration_option = click.option(
    "--duration",
    type=quantity("s"),
    metavar="S",
    default=180.0,
    show_default=True,
    help="Length of each run in seconds.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="For everything random: another seed gives another draw.",
)
kernel_option = click.option(
    "--kernel",
    metavar="VERSION",
    help="The virtual kernel to run, by its version in `ccbench kernel info`.  [default: the one "
    "that was built last]",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Runs side by side.  [default: one per core]"
)
scheduler_option = click.option(
    "--scheduler",
    metavar="tcp://HOST:8786",
    help="Run on the dask cluster of this scheduler instead of on this machine.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)
