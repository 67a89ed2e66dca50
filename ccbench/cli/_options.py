# SPDX-License-Identifier: Apache-2.0
"""Options shared by several commands, and parsers of option values."""

from __future__ import annotations

import math
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ccbench.base import durable, validation
from ccbench.emulate.engine import ChoosingEngine
from ccbench.emulate.registry import ENGINES, get_engine, info_of
from ccbench.experiment import trace_library
from ccbench.experiment.noise import NO_NOISE, Noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ccbench.emulate.engine import Engine, EngineInfo, EngineOption
    from ccbench.experiment.path import NetworkPath

__all__ = [
    "OF_NETWORK",
    "EngineChoice",
    "NetworkChoice",
    "NoiseChoice",
    "PatchesCommand",
    "WorkersChoice",
    "alpha_option",
    "bandwidth_option",
    "beta_option",
    "cca_names",
    "check_ccas",
    "check_folder_of",
    "check_left_out",
    "check_link",
    "command_engine_options",
    "completes",
    "duration_option",
    "ecn_option",
    "engine_options",
    "given_options",
    "jobs_option",
    "json_option",
    "kernel_option",
    "link_engine_options",
    "network_options",
    "noise_options",
    "optional",
    "output_option",
    "patches_option",
    "plain_value",
    "qdisc_names",
    "qdisc_options",
    "quantity",
    "queue_option",
    "rtt_option",
    "seed_option",
    "workers_options",
]


#: A decorator of commands.
_Decorator: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"


def quantity(unit: str, *, or_zero: bool = False) -> Callable[[str | float], float]:
    """Return a parser of a finite number above 0, or of at least 0 with `or_zero`.

    Its error messages name the `unit`.

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
            step = f": write the number of {unit} without the unit" if unit else ""
            message = f"{text!r} is not {allowed}{step}"
            raise click.BadParameter(message)
        return number

    return read


def cca(text: str) -> str:
    """Read the name of a CCA; the engine checks later that it exists."""
    if not text:
        message = "it is empty; name a CCA such as cubic"
        raise click.BadParameter(message)
    return text


def check_ccas(*given: tuple[str, str], engine: Engine | None = None) -> None:
    """Check that the virtual kernel has the CCAs of these options.

    Parameters
    ----------
    *given : tuple of (str, str)
        Options and the CCAs that they name.
    engine : Engine, optional
        The engine with this kernel; by default that with the kernel in use.
    """
    chosen = engine or get_engine("kernel")
    for option, name in given:
        chosen.check_cca(name, option)


def completes(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a shell completion of these names."""

    def complete(_context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
        return [name for name in names() if name.startswith(prefix)]

    return complete


def cca_names() -> Iterable[str]:
    """Return the congestion controls of the virtual kernel."""
    from ccbench.emulate.kernel.source.lookup import ready

    kernel = ready()
    return () if kernel is None else kernel.ccas


def qdisc_names() -> Iterable[str]:
    """Return the queueing disciplines available at a bottleneck."""
    from ccbench.emulate.kernel.source.lookup import ready
    from ccbench.experiment.qdiscs import QDISCS

    kernel = ready()
    return QDISCS if kernel is None else kernel.queues


def queue(text: str) -> dict[str, float | int]:
    """Read the length of a bottleneck's queue as a field of ``Bottleneck``.

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
        allowed = "a number of BDPs or packets above 0, such as 1.5bdp or 64packets"
        message = f"{text!r} is not {allowed}"
        raise click.BadParameter(message)
    return setting


def setting(text: str) -> tuple[str, int | float | str | bool]:
    """Read the name and the value of a setting; see :func:`plain_value`.

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
    """Read a value as in TOML (number, true, false); any other text is a string.

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


class PatchesCommand(click.Command):
    """A command whose :func:`patches_option` takes all following words, as of a pattern."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--patch`` before each of its words."""
        return super().parse_args(ctx, list(_one_by_one(args, "--patch")))


def _one_by_one(words: Iterable[str], option: str) -> Iterator[str]:
    """Yield a command line in which the words that follow an option have one option each.

    Examples
    --------
    >>> list(_one_by_one(["7.3", "--patch", "a", "b", "--jobs", "2"], "--patch"))
    ['7.3', '--patch', 'a', '--patch', 'b', '--jobs', '2']
    """
    is_value = is_first = False
    for word in words:
        if word.startswith("-"):
            is_value = is_first = word == option
        elif is_value:
            if not is_first:
                yield option
            is_first = False
        yield word


def patches_option(help_text: str) -> _Decorator:
    """Return ``--patch`` of a :class:`PatchesCommand`, as an argument ``patches``."""
    return click.option(
        "--patch",
        "patches",
        metavar="FILE...",
        multiple=True,
        type=click.Path(path_type=Path),
        help=help_text,
    )


@dataclass(frozen=True)
class EngineChoice:
    """The engine selected on the command line.

    Attributes
    ----------
    name : str
    values : dict of str to object
        Values of the given engine options, by flag.
    """

    name: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, object]:
        """The options with which another command selects the same engine."""
        named = {} if self.name == "kernel" else {"--engine": self.name}
        return {**named, **self.values}

    def make(self, check: Callable[[Any], object] | None = None) -> Engine:
        """Create the engine; if it is not the default one, say so on standard error.

        Parameters
        ----------
        check : callable, optional
            Checks the command's input with an engine, by which it may be another version of the
            engine (:class:`~ccbench.emulate.engine.ChoosingEngine`).

        Raises
        ------
        InputError
            If no engine has this name, or it lacks one of the given options.
        MissingRequirement
            If the engine is not installed.
        """
        info = info_of(self.name)
        own = {option.flag: option for option in info.options}
        for flag, value in self.values.items():
            if flag not in own:
                owner = next(other.name for other in ENGINES.values() if flag in _flags(other))
                allowed = f"left out with --engine {self.name}"
                raise validation.bad(flag, str(value), allowed, f"write --engine {owner}")
        engine_class: Any = info.load()
        arguments = {own[flag].parameter: v for flag, v in self.values.items()}
        engine: Engine = engine_class(**arguments)
        if check is not None and isinstance(engine, ChoosingEngine):
            engine, note = engine.suiting(check)
            if note:
                click.echo(note, err=True)
        return engine


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of engines to a command, as one argument ``engine``: an EngineChoice."""
    return _with_engines(command, tuple(ENGINES), default="kernel", purpose="runs the scenarios")


def kernel_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--kernel`` to a command, as an argument ``engine``: an EngineChoice."""
    info = ENGINES["kernel"]

    @wraps(command)
    def with_kernel(*positional: Any, **others: Any) -> Any:
        values = _taken(_flags(info), others)
        return command(*positional, engine=EngineChoice(info.name, values), **others)

    for option in reversed(info.options):
        with_kernel = _engine_option(option, "")(with_kernel)
    return with_kernel


#: Engines whose links reach servers.
_WITH_LINKS = tuple(info.name for info in ENGINES.values() if info.has_links)


def link_engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of engines with links to servers, as one argument ``engine``."""
    purpose = "emulates the links to servers"
    return _with_engines(command, _WITH_LINKS, default="mahimahi", purpose=purpose)


def command_engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of engines that run a user's command, as one argument ``engine``."""
    names = ("kernel", *_WITH_LINKS)
    return _with_engines(command, names, default="kernel", purpose="runs the command")


def _with_engines(
    command: Callable[..., Any], names: Sequence[str], *, default: str, purpose: str
) -> Callable[..., Any]:
    infos = [ENGINES[name] for name in names]
    options = {option.flag: option for info in infos for option in info.options}

    @wraps(command)
    def with_engine(*positional: Any, engine: str, **others: Any) -> Any:
        values = _taken(options, others)
        return command(*positional, engine=EngineChoice(engine, values), **others)

    for flag, option in reversed(options.items()):
        owners = " or ".join(info.name for info in infos if flag in _flags(info))
        with_engine = _engine_option(option, f", for --engine {owners}")(with_engine)
    return click.option(
        "--engine",
        shell_complete=completes(lambda: names),
        default=default,
        show_default=True,
        help="Engine that "
        f"{purpose}: {'; '.join(f'{info.name} ({info.summary})' for info in infos)}.",
    )(with_engine)


def _engine_option(option: EngineOption, condition: str) -> Callable[..., Any]:
    """Return click's decorator for an option of an engine."""
    return click.option(
        option.flag,
        type=click.Path(path_type=Path, file_okay=False) if option.kind is Path else option.kind,
        metavar=option.metavar,
        help=f"{option.help}{condition}.  [default: {option.default}]",
    )


def _taken(flags: Iterable[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of engines from a command's arguments; return the given ones by flag."""
    taken = {flag: arguments.pop(_argument(flag)) for flag in flags}
    return {flag: value for flag, value in taken.items() if value is not None}


def _flags(info: EngineInfo) -> list[str]:
    return [option.flag for option in info.options]


def _argument(flag: str) -> str:
    """Return click's argument name for an option."""
    return flag.removeprefix("--").replace("-", "_")


def qdisc_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``qdisc`` and ``qdisc_settings`` of a bottleneck's queue to a command."""
    qdisc = click.option(
        "--qdisc",
        shell_complete=completes(qdisc_names),
        metavar="NAME",
        default="droptail",
        show_default=True,
        help="Queueing discipline of the bottleneck: one of those in `ccbench kernel info`.",
    )
    settings = click.option(
        "--qdisc-option",
        "qdisc_settings",
        type=setting,
        metavar="NAME=VALUE",
        multiple=True,
        help="Option of the queueing discipline, as in a scenario's qdisc_options; may be "
        "repeated.",
    )
    return qdisc(settings(command))


def output_option(help_text: str, **settings: Any) -> _Decorator:
    """Return ``-o`` of a command that writes its results to a folder, as an argument ``output``.

    Parameters
    ----------
    help_text : str
        What the folder is for.
    **settings
        Further arguments of ``click.option``.
    """
    folder = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--output", type=folder, help=help_text, **settings)


#: Values of a scenario's `ecn` by those of --ecn.
_ECN = {"off": False, "on": True, "accecn": "accecn"}


def ecn_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--ecn`` to a command, as an argument ``ecn`` with the value of a scenario."""

    @click.option(
        "--ecn",
        type=click.Choice([*_ECN]),
        default="off",
        show_default=True,
        help="ECN of both hosts: none, that of RFC 3168, or accurate ECN (RFC 9768).",
    )
    @wraps(command)
    def with_ecn(*, ecn: str, **others: Any) -> Any:
        return command(ecn=_ECN[ecn], **others)

    return with_ecn


#: Kinds of noise that --jitter sets.
_JITTER = ("forward_jitter_ms", "reverse_jitter_ms")


@dataclass(frozen=True)
class NoiseChoice:
    """The noise given by options.

    Attributes
    ----------
    is_off : bool
        Whether all noise is turned off.
    values : dict of str to float
        Fields of :class:`~ccbench.experiment.noise.Noise` that override the default noise.
    """

    is_off: bool = False
    values: dict[str, float] = field(default_factory=dict)

    def over(self, noise: Noise) -> Noise:
        """Return `noise` with the given options applied."""
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
                    allowed = f"left out with --noise {name}"
                    raise validation.bad("--jitter", jitter, allowed, "remove one of the two")
                values[name] = jitter
        if is_off and values:
            allowed = "left out with --no-noise"
            raise validation.bad("--noise", ", ".join(values), allowed, "remove one of the two")
        with validation.within("--noise: "):
            Noise(**values)
        return cls(is_off, values)


def noise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of noise to a command, as one argument ``noise``: a NoiseChoice."""

    @click.option(
        "--noise",
        "noise_settings",
        type=setting,
        metavar="NAME=VALUE",
        multiple=True,
        help="Set one kind of noise, such as background_share=0.005; may be repeated. Kinds: "
        f"{', '.join(kind.name for kind in fields(Noise))}.",
    )
    @click.option(
        "--jitter",
        type=quantity("ms", or_zero=True),
        metavar="MS",
        help="Maximum random delay of a packet in either direction: short for --noise "
        "forward_jitter_ms=MS --noise reverse_jitter_ms=MS.",
    )
    @click.option(
        "--no-noise", is_flag=True, help="Run without noise: exact, but unlike a testbed."
    )
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


@dataclass(frozen=True)
class WorkersChoice:
    """The workers of runs given by options: cores of this machine, or a cluster.

    Attributes
    ----------
    jobs : int or None
    scheduler : str or None
    """

    jobs: int | None = None
    scheduler: str | None = None

    def check_local(self, option: str) -> None:
        """Check that an option that only this machine can have is not given with a cluster."""
        if self.scheduler is not None:
            message = (
                f"{option} is for this machine, --scheduler for a cluster: give one of the two"
            )
            raise click.UsageError(message)

    @contextmanager
    def connected(self) -> Iterator[dict[str, Any]]:
        """Connect to the cluster, if any; yield the arguments ``executor`` and ``jobs``."""
        if self.scheduler is None:
            yield {"executor": None, "jobs": self.jobs}
            return
        from ccbench import emulate

        with emulate.cluster(self.scheduler) as executor:
            yield {"executor": executor, "jobs": None}


jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Parallel runs.  [default: one per core]"
)


def workers_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--jobs`` and ``--scheduler`` to a command, as an argument ``workers``."""

    @jobs_option
    @click.option(
        "--scheduler",
        metavar="tcp://HOST:8786",
        help="Run on the Dask cluster of this scheduler instead of this machine.",
    )
    @wraps(command)
    def with_workers(*, jobs: int | None, scheduler: str | None, **others: Any) -> Any:
        workers = WorkersChoice(jobs, scheduler)
        if jobs is not None:
            workers.check_local("--jobs")
        return command(workers=workers, **others)

    return with_workers


#: Options of a single bottleneck, by the argument of the command.
_OF_LINK = {
    "bandwidth": "--bandwidth",
    "trace": "--trace",
    "rtt": "--rtt",
    "queue_setting": "--queue",
    "qdisc": "--qdisc",
    "qdisc_settings": "--qdisc-option",
    "ecn": "--ecn",
}


def given_options(names: Mapping[str, str]) -> list[str]:
    """Return the options that the command line has, of those by the command's arguments."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return [flag for name, flag in names.items() if context.get_parameter_source(name) == source]


def check_left_out(names: Mapping[str, str], other: str) -> None:
    """Check that none of these options is given with another one."""
    if given := given_options(names):
        message = f"{', '.join(given)} must be left out with {other}, whose file determines it"
        raise click.UsageError(message)


def check_link(values: Mapping[str, object]) -> None:
    """Check that the options of a single bottleneck, by the command's arguments, are complete."""
    for name in ("rtt", "queue_setting"):
        if values[name] is None:
            message = f"{_OF_LINK[name]} is missing: give it, or a file with --path"
            raise click.UsageError(message)
    if (values["bandwidth"] is None) == (values["trace"] is None):
        message = "a link needs either --bandwidth or --trace: give one of the two"
        raise click.UsageError(message)


#: Options of a network, likewise.
OF_NETWORK = {"file": "--path", **_OF_LINK}


@dataclass(frozen=True)
class NetworkChoice:
    """The network given by options: a file, or the settings of one bottleneck.

    Attributes
    ----------
    file : Path or None
    settings : dict of str to object
        Values of the other options, by the command's arguments.
    """

    file: Path | None
    settings: dict[str, Any]

    def path(self) -> NetworkPath:
        """Return the path of the file, or the one of the options with typical noise."""
        from ccbench.experiment.path import typical_path
        from ccbench.experiment.scenario import load_path

        if self.file is not None:
            check_left_out(_OF_LINK, "--path")
            return load_path(self.file)
        values = self.settings
        check_link(values)
        path = typical_path(
            bandwidth_mbps=values["bandwidth"],
            trace=None if values["trace"] is None else trace_library.find(values["trace"], Path()),
            rtt_ms=values["rtt"],
            qdisc=values["qdisc"],
            qdisc_options=values["qdisc_settings"],
            **values["queue_setting"],
        )
        return replace(path, ecn=values["ecn"])


def check_folder_of(output: Path) -> None:
    """Check that a file can be written; call it before a long computation."""
    if output.is_dir():  # true of the empty name as well
        raise validation.bad("--output", str(output), "a file", "name a file in it")
    folder = Path(os.path.realpath(output)).parent  # follows a symbolic link
    if not folder.is_dir():
        step = f"mkdir -p {folder if output.is_symlink() else output.parent}"
        raise validation.bad("--output", str(output), "in an existing folder", step)
    if not durable.is_possible(output):
        allowed = "in a writable folder"
        raise validation.bad("--output", str(output), allowed, "choose another folder")


alpha_option = click.option(
    "--alpha",
    type=cca,
    required=True,
    metavar="CCA",
    shell_complete=completes(cca_names),
    help="The new CCA.",
)
beta_option = click.option(
    "--beta",
    type=cca,
    required=True,
    metavar="CCA",
    shell_complete=completes(cca_names),
    help="The deployed CCA, which may be harmed.",
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
    help="Seed of all random numbers.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)


def optional(option: _Decorator) -> _Decorator:
    """Return an option that is not required here."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Any = option(command)
        decorated.__click_params__[-1].required = False
        added: Callable[..., Any] = decorated
        return added

    return add


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a network to a command, as one argument ``network``."""

    @click.option(
        "--path",
        "file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="TOML file with the network instead of the next options: a scenario, whose flows, "
        "duration and seed are not used.",
    )
    @optional(bandwidth_option)
    @click.option("--trace", metavar="NAME|FILE", help="Trace of a link of varying rate instead.")
    @optional(rtt_option)
    @optional(queue_option)
    @qdisc_options
    @ecn_option
    @wraps(command)
    def with_network(*, file: Path | None, **others: Any) -> Any:
        settings = {name: others.pop(name) for name in _OF_LINK}
        return command(network=NetworkChoice(file, settings), **others)

    return with_network
