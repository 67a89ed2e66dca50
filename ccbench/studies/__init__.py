# SPDX-License-Identifier: Apache-2.0
"""Reproductions of published figures and tables, one module each.

A :class:`Study` defines scenarios, measurements and published statements; a :class:`SearchStudy`
defines searches instead of scenarios, a :class:`SimulationStudy` data-centre simulations, a
:class:`ModelStudy` computations.
:func:`run_study` runs a study and compares its results with the published ones.

A user's own study is a file that sets ``STUDY``. Run it with ``ccbench study run my_figure.py`` or
``run_study("my_figure.py")``:

.. code-block:: python

    from ccbench.base.figures import Figure

    from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    from ccbench.studies import Comparison, Findings, Study, StudyInfo, published


    def scenarios(*, quick):
        link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        path = NetworkPath(bottlenecks=(link,), rtt_ms=20)
        return tuple(
            Scenario(
                flows=(Flow(cca="cubic"), Flow(cca="cubic", extra_rtt_ms=extra_ms)),
                path=path,
                duration_s=2 if quick else 60,
                name=f"{extra_ms} ms more",
            )
            for extra_ms in (0, 60)
        )


    def measure(run):
        near, far = run.summary()["throughput_mbps"]
        return [{"extra_ms": run.scenario.flows[1].extra_rtt_ms, "ratio": near / far}]


    def conclude(table):
        figure = Figure()
        table.plot.bar("extra_ms", "ratio", ax=figure.subplots())
        ratio = float(table["ratio"].iloc[-1])
        stated = published.between(2, 4, "section 5")
        comparison = Comparison(quantity="throughput, near ÷ far", measured=ratio, published=stated)
        return Findings(table=table, figure=figure, comparisons=(comparison,))


    STUDY = Study(
        info=StudyInfo(name="rtt-unfairness", title="CUBIC's RTT", publication="my thesis"),
        scenarios=scenarios,
        measure=measure,
        conclude=conclude,
    )

Examples
--------
>>> from ccbench import studies
>>> result = studies.run_study("ware-3.2", quick=True)  # doctest: +SKIP
>>> result.findings.table  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names
from ccbench.studies import published

if TYPE_CHECKING:
    from ccbench.studies.catalogue import CatalogueEntry, get, info, names
    from ccbench.studies.own import study_in
    from ccbench.studies.runner import StudyResult, plan_study, run_study
    from ccbench.studies.study import (
        AnyStudy,
        Comparison,
        Findings,
        ModelStudy,
        Rows,
        SearchStudy,
        SimulationStudy,
        Study,
        Verdict,
    )
    from ccbench.studies.study_info import StudyInfo

__all__ = [
    "AnyStudy",
    "CatalogueEntry",
    "Comparison",
    "Findings",
    "ModelStudy",
    "Rows",
    "SearchStudy",
    "SimulationStudy",
    "Study",
    "StudyInfo",
    "StudyResult",
    "Verdict",
    "get",
    "info",
    "names",
    "plan_study",
    "published",
    "run_study",
    "study_in",
]

# Imported on first use: listing all studies does not import the runner.
_MODULES = {
    **dict.fromkeys(("CatalogueEntry", "get", "info", "names"), "ccbench.studies.catalogue"),
    "study_in": "ccbench.studies.own",
    **dict.fromkeys(("StudyResult", "plan_study", "run_study"), "ccbench.studies.runner"),
    **dict.fromkeys(
        (
            "AnyStudy",
            "Comparison",
            "Findings",
            "ModelStudy",
            "Rows",
            "SearchStudy",
            "SimulationStudy",
            "Study",
            "Verdict",
        ),
        "ccbench.studies.study",
    ),
    "StudyInfo": "ccbench.studies.study_info",
}


__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
