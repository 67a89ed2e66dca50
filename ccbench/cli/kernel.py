# SPDX-License-Identifier: Apache-2.0
"""``ccbench kernel build``, ``use``, ``info``, ``list`` and ``prune``."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._options import (
    PatchesCommand,
    cca_names,
    check_ccas,
    completes,
    json_option,
    patches_option,
    qdisc_names,
)
from ccbench.emulate.kernel import releases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.kernel.source.cached_kernels import CachedKernel
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.qdiscs import Qdisc

__all__ = ["kernel"]


@click.group()
def kernel() -> None:
    """Build virtual kernels, and select, list and remove them."""


@kernel.command(cls=PatchesCommand, short_help="Compile the virtual kernel and its modules.")
@click.argument("release", required=False, metavar="[RELEASE]")
@click.option(
    "--source",
    metavar="DIR|TARBALL",
    type=click.Path(path_type=Path),
    help="Linux 6.1 or newer to build, instead of a package of the distribution.",
)
@patches_option("Patches of Linux to apply in this order, as of `git format-patch` or `diff -ru`.")
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the kernel for --kernel.  [default: the release, with the patches' file names]",
)
@click.option(
    "--config",
    metavar="CONFIG_NAME=VALUE",
    multiple=True,
    help="Further option of Linux's configuration; may be repeated.",
)
@click.option(
    "--hz", type=int, default=1000, show_default=True, help="Timer ticks of the kernel per second."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Parallel compilers.  [default: one per core]"
)
def build(
    *,
    release: str | None,
    source: Path | None,
    patches: tuple[Path, ...],
    name: str | None,
    config: tuple[str, ...],
    hz: int,
    jobs: int | None,
) -> None:
    """Compile the changed parts of the virtual kernel, its modules and its init.

    RELEASE is that of a package linux-source of Debian or Ubuntu, such as 7.3; by default that of
    the default kernel, at first 6.12 if there is one. It needs no root, and writes only to the
    user's cache folder.

    The first kernel is the default. Others are kept, too, including those with patches or a name:
    `--kernel NAME` runs one, `ccbench kernel use NAME` makes it the default. Damaged parts of a
    build are compiled again.
    """
    from ccbench.emulate.kernel.source import build, cached_trees

    if release is not None and source is not None:
        raise click.UsageError(f"{release} and --source are given; give one of them")
    with progress() as bar:
        task = bar.add_task("", total=1.0)

        def show(phase: str, done: float) -> None:
            # Without a tty, print a line for each phase.
            if bar.disable and done < 1 and phase != bar.tasks[0].description:
                click.echo(phase, err=True)
            bar.update(task, description=phase, completed=done)

        built = build.build(
            source,
            release=release,
            patch=patches,
            name=name,
            config=config,
            hz=hz,
            jobs=jobs,
            on_progress=show,
        )
    for warning in built.warnings:
        click.echo(warning, err=True)
    _print(built)
    if default := cached_trees.other_default(built):
        click.echo(
            f"The default remains {default}: --kernel {built.name} runs this kernel, and\n"
            f"`ccbench kernel use {built.name}` makes it the default."
        )


@kernel.command(short_help="Make a built kernel the default.")
@click.argument("name")
def use(*, name: str) -> None:
    """Make the newest build of this NAME or Linux release, such as 6.12, the default.

    `--kernel NAME` selects a kernel for one command.
    """
    from ccbench.emulate.kernel.source import lookup

    _print(lookup.use(name))


@kernel.command(short_help="Show the default build.")
@click.option(
    "--qdisc",
    metavar="NAME",
    shell_complete=completes(qdisc_names),
    help="Describe this queueing discipline and its options instead.",
)
@click.option(
    "--cca",
    metavar="NAME",
    shell_complete=completes(cca_names),
    help="Describe this congestion control instead: needs, state, module parameters.",
)
@json_option
def info(*, qdisc: str | None, cca: str | None, as_json: bool) -> None:
    """Show the default build: version, HZ, CCAs, queueing disciplines, modules."""
    from ccbench.emulate.kernel.boot import trapping
    from ccbench.emulate.kernel.source.lookup import installed

    if qdisc is not None and cca is not None:
        raise click.UsageError("--qdisc and --cca are given; give one of them")
    build = installed()
    if qdisc is not None:
        _print_qdisc(build.queue(qdisc), as_json=as_json)
    elif cca is not None:
        check_ccas(("--cca", cca))
        _print_cca(build, cca, as_json=as_json)
    elif as_json:
        print_json(
            {
                "path": build.path,
                "release": build.release,
                "hz": build.hz,
                "ccas": build.ccas,
                "qdiscs": list(build.queues),
                "features": build.descriptions.features,
                "modules": build.digests(),
                "trapping": trapping.ways(build.release),
                "version": build.version,
                "origin": build.origin,
                **build.variant.provenance(),
                **({"left_out": build.left_out} if build.left_out else {}),
            }
        )
    else:
        _print(build)


@kernel.command("list")
@click.option(
    "--offered",
    is_flag=True,
    help="List the releases that the distribution offers, for `ccbench kernel build`, instead.",
)
@json_option
def list_kernels(*, offered: bool, as_json: bool) -> None:
    """List the kernels in the cache: sizes, CCAs, queueing disciplines.

    A `build` runs; modules are compiled against a `tree`. The state is `running` (in use by a
    process), `current` (the default), `newest` of its name or Linux release and HZ, `old` or
    `damaged`, that is missing a file or with a changed one. `ccbench kernel prune` removes the last
    two, `ccbench kernel build` repairs a build. Shared files are counted once.
    """
    if offered:
        from ccbench.emulate.kernel.source import packages

        found = packages.offered(lambda step: click.echo(step, err=True))
        if as_json:
            print_json({"releases": found})
        else:
            click.echo("\n".join(found))
        return
    from ccbench.emulate.kernel.source.cached_kernels import cached_kernels

    kernels = cached_kernels()
    _print_kernels(kernels, as_json=as_json)
    if not as_json:
        _print_contents(kernels)


@kernel.command()
@click.option("--dry-run", is_flag=True, help="Only list the kernels to remove.")
@json_option
def prune(*, dry_run: bool, as_json: bool) -> None:
    """Remove old kernels from the cache.

    Kernels in use and the newest of each name or Linux release and HZ remain. The same ccbench can
    build a removed kernel again from the same source and patches. Stored runs remain.
    """
    from ccbench.emulate.kernel.source.cached_kernels import prune as remove

    removed = remove(dry_run=dry_run, report=lambda phase, _: click.echo(phase, err=True))
    _print_kernels(removed, as_json=as_json)
    if not as_json:
        done = "would be removed" if dry_run else "removed"
        click.echo(f"{len(removed)} {done}, {_megabytes(removed)} MB")


def _print_kernels(kernels: Sequence[CachedKernel], *, as_json: bool) -> None:
    if as_json:
        print_json({"kernels": [asdict(build) for build in kernels]})
    elif kernels:
        own = ["name", "patches"] if any(build.name for build in kernels) else []
        origin = ["origin"] if any(build.origin for build in kernels) else []
        print_table(
            ["kernel", "", "Linux", *own, "HZ", "made", "size\nMB", *origin, "state"],
            [
                [
                    build.path.name,
                    build.kind,
                    build.release or "-",
                    *([build.name or "-", str(len(build.patches))] if own else []),
                    str(build.hz) if build.hz else "-",
                    time.strftime("%Y-%m-%d %H:%M", time.localtime(build.made_s)),
                    _megabytes([build]),
                    *([build.origin or "this machine"] if origin else []),
                    build.state,
                ]
                for build in kernels
            ],
        )


#: Contents of a build: heading and field of a CachedKernel.
_CONTENTS = {
    "congestion controls": "ccas",
    "queueing disciplines": "qdiscs",
    "features": "features",
}


def _print_contents(kernels: Sequence[CachedKernel]) -> None:
    """Print what all kernels have, and then what each has beyond that."""
    builds = {
        build.name or f"Linux {build.release}": build
        for build in reversed(kernels)  # of a release, the newest remains
        if build.kind == "build" and build.is_needed
    }
    if not builds:
        return
    pairs: dict[str, str] = {}
    own: dict[str, list[str]] = {name: [] for name in sorted(builds, key=releases.numbers)}
    for heading, field in _CONTENTS.items():
        names = {name: set(getattr(build, field)) for name, build in builds.items()}
        common = set.intersection(*names.values())
        pairs[heading] = ", ".join(sorted(common))
        for name, others in own.items():
            others.extend(sorted(names[name] - common))
    also = {f"{name} also": ", ".join(others) for name, others in own.items()}
    print_pairs({name: text for name, text in {**pairs, **also}.items() if text}, words=True)


def _megabytes(kernels: Sequence[CachedKernel]) -> str:
    return f"{sum(build.size_bytes for build in kernels) / 1e6:.1f}"


def _print_qdisc(qdisc: Qdisc, *, as_json: bool) -> None:
    properties: dict[str, Any] = {
        "name": qdisc.name,
        "summary": qdisc.summary,
        "limit": qdisc.limit,
        "drops": qdisc.drops.value,
        "marks": qdisc.marks,
        "statistics": [field.name for field in qdisc.statistics],
    }
    options = [
        {
            "option": name,
            "unit": option.unit,
            "allowed": option.allowed,
            "default": option.default,
            "required": option.is_required,
            "summary": option.summary,
        }
        for name, option in qdisc.options.items()
    ]
    if as_json:
        print_json({**properties, "options": options})
        return
    words = {
        **properties,
        "marks": "ECN-capable packets" if qdisc.marks else "no packets",
        "statistics": ", ".join(properties["statistics"]),
    }
    print_pairs({key: str(value) for key, value in words.items() if value}, words=True)
    if options:
        print_table(
            ["option", "unit", "allowed", "default", ""],
            [
                [
                    str(row["option"]),
                    str(row["unit"]),
                    str(row["allowed"]),
                    "required" if row["required"] else _default(row["default"]),
                    str(row["summary"]),
                ]
                for row in options
            ],
            words=5,
        )


def _print_cca(build: KernelBuild, name: str, *, as_json: bool) -> None:
    from ccbench.emulate.kernel.boot.parameters import module_parameters

    cca = build.cca(name)
    described: dict[str, Any] = {
        "name": name,
        "summary": cca.summary,
        "needs_receiver": cca.needs_receiver,
        "qdisc_option": cca.qdisc_option,
        "state": [field.name for field in cca.info],
        "module_parameters": module_parameters(f"tcp_{name}", build),
    }
    if as_json:
        print_json(described)
        return
    words = {
        "name": name,
        "summary": cca.summary,
        "receiver": "takes part, with its own feedback of marks" if cca.needs_receiver else "any",
        "bottlenecks": "{} with {} = {}".format(*cca.qdisc_option) if cca.qdisc_option else "",
        "state": ", ".join(described["state"]),
    }
    print_pairs({key: value for key, value in words.items() if value}, words=True)
    if parameters := described["module_parameters"]:
        print_table(["module parameter", ""], [list(row) for row in parameters.items()], words=2)


def _default(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)


def _own(build: KernelBuild) -> dict[str, str]:
    variant = build.variant
    patches = (f"{file} (SHA-256 {digest[:12]}...)" for file, digest in variant.patches)
    own = {
        "name": variant.name,
        "patches": ", ".join(patches),
        "options": ", ".join(variant.options),
    }
    return {key: value for key, value in own.items() if value}


def _left_out(build: KernelBuild) -> dict[str, str]:
    names = ", ".join(build.left_out)
    return {"left out": f"{names}, which do not compile with the patches"} if names else {}


def _features(build: KernelBuild) -> dict[str, str]:
    summaries = ", ".join(build.descriptions.features.values())
    return {"features": summaries} if summaries else {}


def _print(build: KernelBuild) -> None:
    from ccbench.emulate.kernel.boot import trapping

    print_pairs(
        {
            "Linux": build.release,
            **_own(build),
            "HZ": str(build.hz),
            "congestion controls": ", ".join(build.ccas),
            "queueing disciplines": ", ".join(build.queues),
            "modules": ", ".join(build.modules),
            **_left_out(build),
            **_features(build),
            "programs": f"trapped by {' or '.join(trapping.ways(build.release))}",
            "version": build.version,
            **({"origin": build.origin} if build.origin else {}),
            "folder": str(build.path),
        },
        words=True,
    )
