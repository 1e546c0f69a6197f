"""A report as continuous integration systems read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports.failures import told_lines
from agui_bridge.conformance.runner import Report

__all__ = ["as_junit"]


def as_junit(reports: Sequence[Report]) -> str:
    """One test suite an endpoint, as continuous integration systems read it.

    A failed `should` is a skipped test with its reason, so that it is seen and breaks nothing.
    Notes on a passed check are the output of its test; what was found out is a property.
    """
    root = ElementTree.Element("testsuites")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=_printable(report.name))
        if report.found:
            properties = ElementTree.SubElement(suite, "properties")
            for found in report.found:
                value = _printable(found)
                ElementTree.SubElement(properties, "property", name="found", value=value)
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for result in report.results:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=result.check.id.partition(".")[0],
                name=result.check.id,
                time=f"{result.seconds:.3f}",
            )
            counts["tests"] += 1
            if (told := _junit_of(result)) is not None:
                kind, counted = told
                counts[counted] += 1
                text = _printable(result.detail)
                ElementTree.SubElement(case, kind, message=text).text = _printable(
                    "\n".join(told_lines(result))
                )
            elif result.notes:
                said = _printable("\n".join(result.notes))
                ElementTree.SubElement(case, "system-out").text = said
        suite.attrib.update({key: str(count) for key, count in counts.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _junit_of(result: Result) -> tuple[str, str] | None:
    if result.status == "pass":
        return None
    if result.status == "skip" or result.check.severity == "should":
        return "skipped", "skipped"
    return ("failure", "failures") if result.status == "fail" else ("error", "errors")


def _printable(text: str) -> str:
    """The text without what XML can't hold."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
