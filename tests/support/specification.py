"""The specification's own streams, and whether what a client made of one is as it says.

tests/golden/agui-1.1/README.md tells what a case holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["CASES", "Seen", "expected", "faults_of"]

Json = Any

_FILE: Final = Path(__file__).parents[1] / "golden" / "agui-1.1" / "streams.json"

CASES: Final[Mapping[str, Mapping[str, Json]]] = {
    case["name"]: case for case in json.loads(_FILE.read_text())
}


@dataclass
class Seen:
    """What a client made of a stream.

    Attributes:
        refusal: why it refused the stream, None if it did not.
        events: what reached the application.
        warnings: what it said besides.
        messages: the conversation afterwards.
        state: the shared state afterwards.
        request: the input that it sent.
    """

    refusal: str | None = None
    events: list[dict[str, Json]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    messages: Sequence[Json] = ()
    state: Json = None
    request: Json = None


def expected(case: Mapping[str, Json], *, here: bool) -> dict[str, Json]:
    """What is to be seen: as the official file says, or `here`, where that differs on purpose."""
    return {**case["expect"], **(case.get("here", {}) if here else {})}


def faults_of(seen: Seen, expect: Mapping[str, Json]) -> list[str]:
    """What is not as it should be, each as a sentence; looks only at what `expect` has."""
    return [
        f"{key}: {fault}"
        for key in expect
        if key in _CHECKS
        for fault in _CHECKS[key](seen, expect)
    ]


def _outcome(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    if (seen.refusal is None) != (expect["outcome"] == "completed"):
        yield f"{expect['outcome']} was expected, refused because of {seen.refusal!r}"


def _reason(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    if expect["errorContains"] not in (seen.refusal or ""):
        yield f"{expect['errorContains']!r} is not in {seen.refusal!r}"


def _run_error(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    told = [event["message"] for event in seen.events if event["type"] == "RUN_ERROR"]
    if not any(expect["runError"] in message for message in told):
        yield f"{expect['runError']!r} is not in {told}"


def _types(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    if (kinds := [event["type"] for event in seen.events]) != expect["eventTypes"]:
        yield f"{kinds}"


def _absent_types(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from {event["type"] for event in seen.events} & set(expect["eventTypesAbsent"])


def _paths(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    for path, value in expect["eventPaths"].items():
        if _at(seen.events, path) != [value]:
            yield f"{path} is {_at(seen.events, path)}"


def _absent_paths(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from (path for path in expect["eventAbsentPaths"] if _at(seen.events, path))


def _warnings(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    for said in expect["warnings"]:
        if not any(said in warning for warning in seen.warnings):
            yield f"{said!r} is not in {seen.warnings}"


def _quiet(seen: Seen, _: Mapping[str, Json]) -> Iterator[str]:
    yield from seen.warnings


def _count(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    if len(seen.messages) != expect["messageCount"]:
        yield f"there are {len(seen.messages)}"


def _messages(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from _differing(list(seen.messages), expect["messages"], "messages")


def _state(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from _differing(seen.state, expect["state"], "state")


def _request(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from _differing(seen.request, expect["request"], "request")


def _absent_in_request(seen: Seen, expect: Mapping[str, Json]) -> Iterator[str]:
    yield from (path for path in expect["requestAbsentPaths"] if _at(seen.request, path))


def _differing(found: Json, wanted: Json, where: str) -> Iterator[str]:
    """Where a value lacks what is wanted; lists are as long, objects may have more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            if key in found:
                yield from _differing(found[key], value, f"{where}.{key}")
            else:
                yield f"{where}.{key} is missing"
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, value in enumerate(wanted):
            yield from _differing(found[number], value, f"{where}.{number}")
    elif found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
        yield f"{where} is {found!r}"


def _at(root: Json, path: str) -> list[Json]:
    """The value at a dotted path, alone in a list; nothing where there is none."""
    for step in path.split("."):
        if isinstance(root, list) and step.isdigit() and int(step) < len(root):
            root = root[int(step)]
        elif isinstance(root, dict) and step in root:
            root = root[step]
        else:
            return []
    return [root]


_CHECKS: Final = {
    "outcome": _outcome,
    "errorContains": _reason,
    "runError": _run_error,
    "eventTypes": _types,
    "eventTypesAbsent": _absent_types,
    "eventPaths": _paths,
    "eventAbsentPaths": _absent_paths,
    "warnings": _warnings,
    "noWarnings": _quiet,
    "messageCount": _count,
    "messages": _messages,
    "state": _state,
    "request": _request,
    "requestAbsentPaths": _absent_in_request,
}
