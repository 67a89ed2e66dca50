# SPDX-License-Identifier: Apache-2.0
"""An evaluation as JUnit XML, which systems of continuous integration show.

A test case is a measure in a network. Definite failures and regressions are failures of it, and a
network that was not measured is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ccbench.evaluate.report.words import before, shown

if TYPE_CHECKING:
    from ccbench.evaluate.evaluation import Evaluation

__all__ = ["junit_of"]


def junit_of(evaluation: Evaluation) -> str:
    """Return the JUnit XML of an evaluation."""
    design = evaluation.design
    suite = ET.Element("testsuite", name=f"{design.pack.name}.{design.candidate}")
    for cell in evaluation.cells:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{design.pack.name}.{cell.case.criterion.key}",
            name=", ".join(filter(None, (cell.case.network.name, cell.title))),
        )
        values = "; ".join(f"{cca} {shown(cell, cca)}" for cca in design.ccas)
        if cell.before is not None and not design.against:
            values += f"; before {before(cell)}"
        if cell.failed is not None:
            ET.SubElement(case, "failure", message=cell.failed.words, type="failure").text = values
        elif cell.is_regression and cell.change is not None:
            message = f"worse than {cell.change.baseline} (p = {cell.change.p_value:.2g})"
            ET.SubElement(case, "failure", message=message, type="regression").text = values
        else:
            ET.SubElement(case, "system-out").text = values
    for key, reason in evaluation.unmeasured.items():
        case = ET.SubElement(suite, "testcase", classname=design.pack.name, name=key)
        ET.SubElement(case, "skipped", message=reason)
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
