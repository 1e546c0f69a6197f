"""What is told of judged endpoints: to people, machines, pages, and as a badge."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from agui_bridge.conformance.check import Check, Kind, Result
from agui_bridge.conformance.runner import Report
from agui_bridge.conformance.verdicts import Status
from agui_bridge.errors import ConfigurationError
from agui_bridge.terminal import Terminal, paint

_SHORT: Final[Mapping[Status, str]] = {"pass": "P", "fail": "F", "blocked": "B", "skip": "-"}


def as_markdown(reports: Sequence[Report]) -> str:
    """A row a check, a column an endpoint; below, what failed and why.

    P is passed, F failed, B blocked (it could not be judged), - not applicable; a lower-case f
    is a `should` that failed. The last row counts what passed of what applies.
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
    sums = [f"{report.passed} of {report.applicable}" for report in reports]
    lines.append(f"| **passed** | of what applies | {' | '.join(sums)} |")
    for report in reports:
        failed = [result for result in report.results if result.status == "fail"]
        blocked = _blocked_alike(report)
        noted = [(result, note) for result in report.results for note in result.notes]
        if failed or blocked or noted or report.found:
            lines += ["", f"**{_cell(report.name)}**", ""]
            lines += [f"- `{result.check.id}`: {_cell(result.detail)}" for result in failed]
            lines += [f"- {_ids(alike)} blocked: {_cell(alike[0].detail)}" for alike in blocked]
            lines += [
                f"- `{result.check.id}` passed, with a note: {_cell(n)}" for result, n in noted
            ]
            lines += [f"- found out: {_cell(found)}" for found in report.found]
    return "\n".join(lines) + "\n"


def _ids(results: Sequence[Result]) -> str:
    return ", ".join(f"`{result.check.id}`" for result in results)


def _short(result: Result | None) -> str:
    if result is None:
        return ""
    mark = _SHORT[result.status]
    return mark.lower() if result.check.severity == "should" and mark in "FB" else mark


def _cell(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text).replace("|", "\\|")


def as_junit(reports: Sequence[Report]) -> str:
    """One test suite an endpoint, as continuous integration systems read it.

    A failed `should` is a skipped test with its reason, so that it is seen and breaks nothing.
    Failures and errors are what the terminal calls failed and blocked; its whole tally is a
    property, as is what was found out. Notes on a passed check are the output of its test.
    """
    root = ElementTree.Element("testsuites")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=_printable(report.name))
        properties = ElementTree.SubElement(suite, "properties")
        for name, values in (("found", report.found), ("tally", (tally(report),))):
            for value in map(_printable, values):
                ElementTree.SubElement(properties, "property", name=name, value=value)
        for result in report.results:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=result.check.id.partition(".")[0],
                name=result.check.id,
                time=f"{result.seconds:.3f}",
            )
            if (element := _JUNIT[result.kind]) is not None:
                text = _printable(result.detail)
                ElementTree.SubElement(case, element, message=text).text = _printable(
                    "\n".join(told_lines(result))
                )
            elif result.notes:
                said = _printable("\n".join(result.notes))
                ElementTree.SubElement(case, "system-out").text = said
        counts = Counter(_JUNIT[result.kind] for result in report.results)
        suite.attrib["tests"] = str(len(report.results))
        for element, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.attrib[name] = str(counts[element])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_JUNIT: Final[Mapping[Kind, str | None]] = {
    "passed": None,
    "failed": "failure",
    "blocked": "error",
    "should_failed": "skipped",
    "should_blocked": "skipped",
    "skipped": "skipped",
}
"""The element that tells it, by how a check ended."""


def _printable(text: str) -> str:
    """The text without what XML can't hold."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def as_json(reports: Sequence[Report]) -> str:
    """Everything, as `{"endpoints": [...]}`.

    Each has its name, url, what was found out, how many passed, how many apply, how many ended in
    each way, and the results.
    """
    endpoints = [
        {
            "name": report.name,
            "url": report.url,
            "found": list(report.found),
            "passed": report.passed,
            "applicable": report.applicable,
            "counts": dict(report.counts),
            "results": [_plain(result) for result in report.results],
        }
        for report in reports
    ]
    return json.dumps({"endpoints": endpoints}, indent=2, ensure_ascii=False) + "\n"


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
        "expected": result.expected,
        "evidence": list(result.evidence),
        "notes": list(result.notes),
    }


FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {
    ".json": as_json,
    ".xml": as_junit,
    ".md": as_markdown,
}
"""The formats, by the ending of the file that holds them."""


def check_names(reports: Iterable[Path], others: Iterable[Path] = ()) -> None:
    """Refuse files that can't be written, before the checks take their time.

    Args:
        reports: whose endings name their formats.
        others: of any ending.

    Raises:
        ConfigurationError: an ending is unknown, or a folder is missing.
    """
    reports = tuple(reports)
    for path in reports:
        if path.suffix not in FORMATS:
            raise ConfigurationError(f"{path}: name it {' or '.join(FORMATS)}.")
    for path in (*reports, *others):
        if not path.parent.is_dir():
            raise ConfigurationError(f"{path} can't be written: there is no folder {path.parent}.")


def write_reports(reports: Sequence[Report], paths: Iterable[Path]) -> None:
    """Write reports, each in the format that its file's ending names.

    Raises:
        ConfigurationError: a file can't be written.
    """
    for path in paths:
        write_text(path, FORMATS[path.suffix](reports))


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ConfigurationError: it can't be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} can't be written: {error.strerror}.") from None


def told_lines(result: Result) -> list[str]:
    """What was expected and seen, the events or requests in question, and how to mend it."""
    check = result.check
    lines = [f"expected  {result.expected or check.sentence}", f"seen      {result.detail}"]
    lines += [f"          {line}" for line in result.evidence]
    if result.status == "fail":  # Else it is not known that there is anything to mend.
        lines += [f"source    {check.source}", f"fix       {check.fix}"]
    return lines


_LABEL: Final = "AG-UI conformance"
_GREEN, _AMBER, _RED = "#2d7d3a", "#8a6100", "#b3261e"
_PER_LETTER: Final = 6.6
_PADDING: Final = 6.0


def as_badge(report: Report) -> str:
    """The badge of an endpoint as SVG, which needs nothing from elsewhere.

    Green is every check, amber is all that must pass, red is less.

    Args:
        report: of one endpoint.
    """
    said = f"{report.passed} of {report.applicable}"
    colour = _RED if report.failures() else _AMBER if report.failures(strict=True) else _GREEN
    left, right = (len(text) * _PER_LETTER + 2 * _PADDING for text in (_LABEL, said))
    title = escape(f"{report.name}: {said} checks of {_LABEL} passed")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img">
  <title>{title}</title>
  <clipPath id="r"><rect width="{left + right:.0f}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#r)">
    <rect width="{left:.0f}" height="20" fill="#444"/>
    <rect x="{left:.0f}" width="{right:.0f}" height="20" fill="{colour}"/>
  </g>
  <g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">
    <text x="{left / 2:.0f}" y="14" textLength="{left - 2 * _PADDING:.0f}">{_LABEL}</text>
    <text x="{left + right / 2:.0f}" y="14" textLength="{right - 2 * _PADDING:.0f}">{said}</text>
  </g>
</svg>
"""


MARKS: Final[dict[Status, str]] = {
    "pass": paint("pass", "green"),
    "fail": paint("FAIL", "red", "bold"),
    "blocked": paint("blocked", "yellow"),
    "skip": paint("skip", "dim"),
}


def print_report(report: Report, terminal: Terminal, *, verbose: bool = False) -> None:
    """Print every check, then what failed, why, and what to do about it.

    Args:
        report: of one endpoint.
        terminal: where to.
        verbose: whether skipped checks have a row too, with the reason.
    """
    rows = []
    for result in report.results:
        if result.status != "skip" or verbose:
            # What was not judged: why not is what one asks.
            told = result.detail if result.status == "skip" else result.check.sentence
            rows.append((result.check.id, _mark(result), told))
    terminal.table(rows, head=("check", "", "promise"))
    for result in report.results:
        if result.status == "fail":
            _print_failure(result, terminal)
    for alike in _blocked_alike(report):
        _print_blocked(alike, terminal)
    noted = [(result.check.id, note) for result in report.results for note in result.notes]
    for heading, lines in (
        ("notes on what passed", [f"{id}: {note}" for id, note in noted]),
        ("found out", report.found),
    ):
        if lines:
            terminal.say(f"\n{paint(heading, 'bold')}")
            for line in lines:
                terminal.say(f"  {line}")
    skipped = any(result.status == "skip" for result in report.results)
    why = " (--verbose says why)" if skipped and not verbose else ""
    terminal.say(f"\n{report.name}: {tally(report)}{why}")


_WORDS: Final[Mapping[Kind, str]] = {
    "passed": "passed",
    "failed": "failed",
    "should_failed": "of should failed",
    "blocked": "blocked",
    "should_blocked": "of should blocked",
    "skipped": "skipped",
}


def tally(report: Report) -> str:
    """How many checks ended in each way, for people; what none did is left out."""
    counts = report.counts
    return ", ".join(f"{counts[kind]} {word}" for kind, word in _WORDS.items() if counts[kind])


def _blocked_alike(report: Report) -> list[list[Result]]:
    """What could not judge, those with the same reason together."""
    alike: dict[str, list[Result]] = {}
    for result in report.results:
        if result.status == "blocked":
            alike.setdefault(result.detail, []).append(result)
    return list(alike.values())


def _mark(result: Result) -> str:
    if result.status == "fail" and result.check.severity == "should":
        return paint("fail", "yellow")
    return MARKS[result.status]


def _print_failure(result: Result, terminal: Terminal) -> None:
    check = result.check
    terminal.say(f"\n{_mark(result)} {paint(check.id, 'bold')} ({check.severity}, {check.profile})")
    for line in told_lines(result):
        terminal.say(f"  {line}")


def _print_blocked(results: Sequence[Result], terminal: Terminal) -> None:
    """Print what kept some checks from judging, once for all of them."""
    if len(results) == 1:
        _print_failure(results[0], terminal)
        return
    first = results[0]
    terminal.say(f"\n{MARKS['blocked']} {paint(f'{len(results)} checks', 'bold')}, all by this")
    terminal.say(f"  seen      {first.detail}")
    for line in first.evidence:
        terminal.say(f"            {line}")
    ids = ", ".join(result.check.id for result in results)
    terminal.say(f"  checks    {ids}")
