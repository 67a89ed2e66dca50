# SPDX-License-Identifier: Apache-2.0
"""Conversion of gene values to experiments.

Each scenario has noise, by default the typical one (:func:`ccbench.experiment.noise.typical`).
Without noise, deterministic CCAs (Reno, CUBIC, Westwood) would behave identically for all seeds,
and the search would find networks in which flows happen to lock in step.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ccbench.base import dataclass_dicts, validation
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import Noise, typical
from ccbench.experiment.path import NetworkPath
from ccbench.experiment.setting_paths import changed
from ccbench.harm import Experiment
from ccbench.harm.experiment import check_named
from ccbench.metrics import DOWNLOAD_S
from ccbench.raygen.quantities import SHORT, is_of_flows, is_setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.base.settings import Value
    from ccbench.experiment.trace import Trace

__all__ = ["WORKLOADS", "base_rtt_ms", "experiment", "network_path"]

#: Workloads of the beta flows: unlimited data; or as much as possible in 10 s, against established
#: alpha flows (HarmGen's bytes downloaded in 10 s, ACM SIGCOMM 2026).
WORKLOADS = ("long", "short")


def experiment(  # noqa: PLR0913 - all by keyword
    values: Mapping[str, Any],
    *,
    alpha: str,
    beta: str,
    duration_s: float,
    seed: int,
    fixed: Mapping[str, Any] = MappingProxyType({}),
    **network: Any,
) -> Experiment:
    """Return the experiment with these values of genes.

    Parameters
    ----------
    values : mapping
        Values by the names in :mod:`ccbench.raygen.quantities`.
    alpha, beta : str
        The new CCA and the CCA that it may harm, by their Linux names.
    duration_s : float
        Length of each run in seconds; with short beta flows, maximum length, as the runs end with
        these flows.
    seed : int
        Seed of both runs.
    fixed, **network
        As of :func:`network_path`.

    Raises
    ------
    InputError
        If the network is impossible; the message names the setting.

    Examples
    --------
    >>> network = {"bandwidth_mbps": 100, "rtt_ms": 40, "queue_bdp": 1, "beta_flows": 4}
    >>> experiment(network, alpha="bbr", beta="cubic", duration_s=60, seed=1).describe()
    '1 bbr against 4 cubic, 40 ms, 100 Mbit/s, 333 packets (1 BDP)'
    """
    check_named(alpha=alpha, beta=beta)
    above_0 = validation.Range(0, low_open=True)
    duration_s = validation.number("duration_s", duration_s, above_0, example=180)
    workload = values.get("workload", "long")
    validation.one_of("workload", workload, WORKLOADS)
    short = workload == "short"
    start_s = float(values.get("beta_start_s", duration_s // 2 if short else 0))
    stop_s = start_s + DOWNLOAD_S if short else None
    if stop_s is not None and stop_s > duration_s:
        enough_s = stop_s if "beta_start_s" in values else 2 * DOWNLOAD_S
        allowed = f"at least {enough_s:g}, as short beta flows take the last {DOWNLOAD_S:g} s"
        raise validation.bad("duration_s", duration_s, allowed, "run for longer")
    latest_s = max(start_s, values.get("alpha_start_s", 0.0))
    if stop_s is None and latest_s > duration_s / 2:
        name = "beta_start_s" if latest_s == start_s else "alpha_start_s"
        allowed = f"at most {duration_s / 2:g}, as harm is measured in the second half of the run"
        raise validation.bad(name, values[name], allowed, "start earlier or run for longer")
    if stop_s is not None and values.get("alpha_start_s", 0.0) >= stop_s:
        allowed = f"below {stop_s:g}, when the short beta flows end"
        raise validation.bad("alpha_start_s", values["alpha_start_s"], allowed, "start earlier")
    # The base round-trip time is the shorter one of both sides.
    rtt_ms = base_rtt_ms(values, fixed)
    ratio = float(values.get("alpha_rtt_ratio", 1.0))
    shorter_ms = rtt_ms * min(ratio, 1.0)
    with validation.within("alpha: "):
        alpha_group = Flow(
            cca=alpha,
            count=values.get("alpha_flows", 1),
            start_s=values.get("alpha_start_s", 0.0),
            extra_rtt_ms=rtt_ms * ratio - shorter_ms,
        )
    with validation.within("beta: "):
        beta_group = Flow(
            cca=beta,
            count=values.get("beta_flows", 1),
            start_s=start_s,
            stop_s=stop_s,
            extra_rtt_ms=rtt_ms - shorter_ms,
        )
    alpha_group, beta_group = _changed_flows((alpha_group, beta_group), values)
    path = network_path(
        values,
        rtt_ms=rtt_ms,
        shorter_ms=shorter_ms,
        fixed=fixed,
        **network,
    )
    return Experiment(
        alpha=(alpha_group,),
        beta=(beta_group,),
        path=path,
        duration_s=duration_s if stop_s is None else stop_s,
        seed=seed,
        measured_s=None if stop_s is None else (start_s, stop_s),
    )


def base_rtt_ms(values: Mapping[str, Any], fixed: Mapping[str, Any]) -> float:
    """Return the base round-trip time of the beta flows in milliseconds."""
    return float(values["rtt_ms"] if "rtt_ms" in values else fixed["rtt_ms"])


def network_path(  # noqa: PLR0913 - all by keyword
    values: Mapping[str, Any],
    *,
    rtt_ms: float,
    shorter_ms: float,
    noise: Iterable[tuple[str, float]] = (),
    trace: Trace | None = None,
    qdisc: str = "droptail",
    qdisc_options: Iterable[tuple[str, Value]] = (),
    ecn: bool | str = False,
    fixed: Mapping[str, Any] = MappingProxyType({}),
) -> NetworkPath:
    """Return the path with these values of genes.

    Parameters
    ----------
    values : mapping
        Values by the names in :mod:`ccbench.raygen.quantities`.
    rtt_ms, shorter_ms : float
        Base round-trip time of the beta flows, to which the queue's length in BDP refers, and the
        shortest one of all flows.
    noise : iterable of (str, float)
        Non-typical levels of noise, by the fields of :class:`~ccbench.experiment.noise.Noise`.
    trace : Trace, optional
        Trace of a link without ``bandwidth_mbps``.
    qdisc, qdisc_options
        The queue, as in :class:`~ccbench.experiment.bottleneck.Bottleneck`, unless a gene varies
        its discipline.
    ecn : bool or "accecn"
        As in :class:`~ccbench.experiment.path.NetworkPath`.
    fixed : mapping
        Further settings of the path, as a document, in which the genes change values.
    """
    document = copy.deepcopy(dict(fixed))
    link = document.setdefault("bottlenecks", [{}])[0]
    if qdisc != Bottleneck.qdisc or "qdisc" not in link:
        link["qdisc"] = qdisc
    if options := dict(qdisc_options):
        link["qdisc_options"] = options
    if trace is not None:
        link["trace"] = trace
    if ecn:
        document["ecn"] = ecn
    noise_before = (
        Noise.from_dict(document["noise"]) if "noise" in document else typical(rtt_ms=shorter_ms)
    )
    document["noise"] = replace(noise_before, **dict(noise)).to_dict()
    short = {SHORT[name]: values[name] for name in SHORT.keys() & values.keys() - {"trace"}}
    short["rtt_ms"] = shorter_ms
    if "queue_bdp" in values:  # relative to the BDP of beta's round-trip time
        short[SHORT["queue_bdp"]] *= rtt_ms / shorter_ms
    own = {name: value for name, value in values.items() if is_setting(name)}
    return NetworkPath.from_dict(changed(document, {**short, **own}))


def _changed_flows(flows: tuple[Flow, Flow], values: Mapping[str, Any]) -> tuple[Flow, ...]:
    """Return the alpha and the beta flows with the values of genes ``flows.0`` and ``flows.1``."""
    own = {name: value for name, value in values.items() if is_of_flows(name)}
    tables = [dataclass_dicts.plain(flow, defaults=False) for flow in flows]
    found = []
    for i, table in enumerate(changed({"flows": tables}, own)["flows"]):
        with validation.within(f"flows[{i}]: "):
            found.append(dataclass_dicts.build(Flow, table))
    return tuple(found)
