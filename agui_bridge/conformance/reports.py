"""Reports for machines and for pages: JSON, JUnit XML, and a matrix in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from agui_bridge.conformance.check import Check, Result
from agui_bridge.conformance.runner import Report
from agui_bridge.conformance.verdicts import Status
from agui_bridge.errors import ConfigurationError

__all__ = ["FORMATS", "as_json", "as_junit", "as_markdown", "check_names", "write_reports"]

_SHORT: Final[Mapping[Status, str]] = {"pass": "P", "fail": "F", "blocked": "B", "skip": "-"}


def as_json(reports: Sequence[Report]) -> str:
    """Everything, as `{"endpoints": [{"name", "url", "results": [...]}]}`."""
    endpoints = [
        {
            "name": report.name,
            "url": report.url,
            "results": [_plain(result) for result in report.results],
        }
        for report in reports
    ]
    return json.dumps({"endpoints": endpoints}, indent=2, ensure_ascii=False) + "\n"


def as_junit(reports: Sequence[Report]) -> str:
    """One test suite an endpoint, as continuous integration systems read it.

    A failed `should` is a skipped test with its reason, so that it is seen and breaks nothing.
    """
    root = ElementTree.Element("testsuites")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=_printable(report.name))
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
                    f"{result.check.sentence}\n{text}\n{result.check.source}\n{result.check.fix}"
                )
        suite.attrib.update({key: str(count) for key, count in counts.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_markdown(reports: Sequence[Report]) -> str:
    """A row a check, a column an endpoint; below, what failed and why.

    P is passed, F failed, B blocked (it could not be judged), - not applicable; a lower-case f
    is a `should` that failed.
    """
    checks: dict[str, Check] = {r.check.id: r.check for report in reports for r in report.results}
    found = [{result.check.id: result for result in report.results} for report in reports]
    lines = [
        f"| check | promise | {' | '.join(_cell(report.name) for report in reports)} |",
        f"|---|---|{'---|' * len(reports)}",
    ]
    for check in checks.values():
        marks = [_short(results.get(check.id)) for results in found]
        lines.append(f"| `{check.id}` | {_cell(check.sentence)} | {' | '.join(marks)} |")
    for report in reports:
        failed = [result for result in report.results if result.status in ("fail", "blocked")]
        if failed:
            lines += ["", f"**{_cell(report.name)}**", ""]
            lines += [f"- `{result.check.id}`: {_cell(result.detail)}" for result in failed]
    return "\n".join(lines) + "\n"


FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {
    ".json": as_json,
    ".xml": as_junit,
    ".md": as_markdown,
}
"""The formats, by the ending of the file that holds them."""


def check_names(paths: Iterable[Path]) -> None:
    """Refuse files that can't be written, before the checks take their time.

    Raises:
        ConfigurationError: an ending is unknown, or a folder is missing.
    """
    for path in paths:
        if path.suffix not in FORMATS:
            raise ConfigurationError(f"{path}: name it {' or '.join(FORMATS)}.")
        if not path.parent.is_dir():
            raise ConfigurationError(f"{path} can't be written: there is no folder {path.parent}.")


def write_reports(reports: Sequence[Report], paths: Iterable[Path]) -> None:
    """Write reports, each in the format that its file's ending names.

    Raises:
        ConfigurationError: a file can't be written.
    """
    for path in paths:
        try:
            path.write_text(FORMATS[path.suffix](reports), encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{path} can't be written: {error.strerror}.") from None


def _plain(result: Result) -> dict[str, Any]:
    check = result.check
    return {
        "id": check.id,
        "status": result.status,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "sentence": check.sentence,
        "source": check.source,
        "severity": check.severity,
        "profile": check.profile,
        "fix": check.fix,
    }


def _junit_of(result: Result) -> tuple[str, str] | None:
    if result.status == "pass":
        return None
    if result.status == "skip" or result.check.severity == "should":
        return "skipped", "skipped"
    return ("failure", "failures") if result.status == "fail" else ("error", "errors")


def _short(result: Result | None) -> str:
    if result is None:
        return ""
    mark = _SHORT[result.status]
    return mark.lower() if result.check.severity == "should" and mark in "FB" else mark


def _cell(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text).replace("|", "\\|")


def _printable(text: str) -> str:
    """The text without what XML can't hold."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
