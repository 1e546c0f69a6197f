"""A run's input as clients of every dialect send it, made into one shape.

1.0 is declared by `protocolVersion`; an input without it comes from a client from before 1.0.
The other dialects are asked for by name, or known by a shape that nothing else has: an object
as `resume` (draft), `forwardedProps.command.resume` (langgraph).

Source: AG-UI 1.0, versioning; docs/dialects.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from ag_ui.core import ContentPart, Context, Message, ResumeEntry, RunAgentInput, Tool
from pydantic import FailFast, TypeAdapter, ValidationError

from agui_bridge.errors import Refused
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.dialects.dialect import (
    V0,
    V1,
    V1_1,
    Dialect,
    DialectChoice,
    draft_dialect,
    langgraph_dialect,
    read_command,
    read_draft,
)
from agui_bridge.protocol.field_rules import MUST_BE_A_STRING, place_of_fault, told_field_fault
from agui_bridge.protocol.json_values import (
    UNLIMITED,
    InputLimits,
    beyond,
    check_ids,
    check_members,
    depth_of,
    find_forbidden,
)
from agui_bridge.protocol.threads.content_parts import (
    is_unknown_part,
    upgrade_parts,
    without_unknown_parts,
)
from agui_bridge.protocol.threads.records import Json, RecordedAnswer
from agui_bridge.protocol.versions import (
    LAST_RELEASE,
    NEWEST,
    OF_COPILOTKIT,
    OFFERS_SURFACES,
    OUTCOMES,
    SPOKEN,
    no_text,
    parse_version,
    release_of,
)
from agui_bridge.protocol.wire.run_events import RefusalChoice, refusal_choice

_LONGEST_REASON = 300

_UNKNOWN_NAMED = 20
"""Unknown members that are named in the log; there may be as many as there may be values."""

_LISTS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "messages": TypeAdapter(Annotated[list[Message], FailFast()]),
    "tools": TypeAdapter(Annotated[list[Tool], FailFast()]),
    "context": TypeAdapter(Annotated[list[Context], FailFast()]),
    "resume": TypeAdapter(Annotated[list[ResumeEntry], FailFast()]),
}
"""The lists of an input, validated to their first bad member.

The models of AG-UI would describe every bad member of every list, millions in one body, though
only the first fault is told.
"""


_PARTS: Final[TypeAdapter[Any]] = TypeAdapter(Annotated[list[ContentPart], FailFast()])


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """A run's input, normalised.

    Attributes:
        input: in the 1.0 shape.
        entries: its resume, empty when absent.
        messages: its messages as JSON, as they were sent, but with the parts of 0.x in the shape of
            1.0. `input.messages` lacks the parts of types that 1.0 does not have.
        has_state: whether it carries a state. An empty object is none: a fresh client always sends
            one, and would wipe what the thread has.
        dialect: how to answer.
        refusals: how it asks to be refused, by `forwardedProps.refusals`; None: it does not say.
        newest: the sign of a page that goes back: id of the newest turn message that it had before,
            by `forwardedProps.agui_bridge.newest`; None: it gives none.
        unnamed_answer: whether it answers an interrupt without saying which one.
        warnings: what was ignored or could not be understood, for the log.
    """

    input: RunAgentInput
    entries: tuple[Entry, ...]
    messages: tuple[Mapping[str, Json], ...]
    has_state: bool
    dialect: Dialect
    refusals: RefusalChoice | None = None
    newest: str | None = None
    unnamed_answer: bool = False
    warnings: tuple[str, ...] = ()


def parse_input(
    body: Any, limits: InputLimits = UNLIMITED, choice: DialectChoice = "auto"
) -> ParsedInput:
    """Read a run's input.

    Args:
        body: the request's body, parsed from JSON.
        limits: how much it may hold.
        choice: the dialect that was asked for, apart from the version, which the body declares.

    Raises:
        Refused: INVALID_INPUT, naming the field; PAYLOAD_TOO_LARGE for too many members;
            UNSUPPORTED_VERSION for another major version.
    """
    steps = parse_in_steps(body, limits, choice)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            parsed: ParsedInput = done.value
            return parsed


def parse_in_steps(
    body: Any, limits: InputLimits = UNLIMITED, choice: DialectChoice = "auto"
) -> Generator[None, None, ParsedInput]:
    """Read a run's input as `parse_input` does, with a rest wherever much has been done.

    Args:
        body: the request's body, parsed from JSON.
        limits: how much it may hold.
        choice: the dialect that was asked for.

    Returns:
        The input, as the generator's value.

    Raises:
        Refused: as `parse_input`.
    """
    if not isinstance(body, dict):
        raise Refused("INVALID_INPUT", "The body must be a JSON object, a RunAgentInput.")
    check_members(body, limits)
    fault = find_forbidden(body, max_depth=limits.max_depth)
    if fault is not None:
        if (depth := depth_of(body)) > limits.max_depth:
            raise beyond(
                "INVALID_INPUT", "the body", found=depth, limit=limits.max_depth, unit="levels",
                setting="max_depth",
            )  # fmt: skip
        raise Refused("INVALID_INPUT", f"The body holds what JSON may not: {_short(fault)}.")
    yield
    shaped = _shaped(body, commands=choice != "ag-ui")
    body = shaped.body
    if isinstance(listed := body.get("messages"), list):
        body = {**body, "messages": [upgrade_parts(message) for message in listed]}
    parsed = yield from _validated(body)
    yield
    if not parsed.thread_id or not parsed.run_id:
        field = "runId" if parsed.thread_id else "threadId"
        raise Refused("INVALID_INPUT", f"{field}: must not be empty.", {"field": field})
    check_ids(parsed, limits)
    dialect, warnings = _negotiate(parsed.protocol_version, _supposed(parsed.forwarded_props))
    if choice == "auto":
        choice = shaped.dialect
        if choice == "ag-ui" and (dialect.release or LAST_RELEASE) < OUTCOMES:
            # Such a client can tell a pause by nothing else, and answers by `forwardedProps`.
            choice = "langgraph-both"
    dialect = _chosen(choice, dialect)
    if shaped.dialect == "langgraph":
        # Such a client knows one question at a time, whatever else it is told.
        dialect = replace(dialect, answers_singly=True)
    unknown = heapq.nsmallest(_UNKNOWN_NAMED, parsed.model_extra or ())
    if unknown:
        warnings = (*warnings, f"unknown members were ignored: {unknown!r:.200}")
    return ParsedInput(
        input=parsed,
        entries=tuple(
            Entry(entry.interrupt_id, RecordedAnswer(entry.status, entry.payload))
            for entry in parsed.resume or ()
        ),
        messages=tuple(body["messages"]),
        has_state=body.get("state") not in (None, {}),
        dialect=dialect,
        refusals=_refusals(parsed.forwarded_props),
        newest=newest_told(parsed.forwarded_props),
        unnamed_answer=shaped.unnamed,
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A body in the 1.0 shape.

    Attributes:
        dialect: which one its own shape is of.
        unnamed: whether it has an answer that names no interrupt, which the body then lacks.
    """

    body: Mapping[str, Any]
    dialect: DialectChoice = "ag-ui"
    unnamed: bool = False


def _shaped(body: Mapping[str, Any], *, commands: bool) -> _Shaped:
    """The body with its answer where 1.0 has it.

    Args:
        body: as it came.
        commands: whether what may be an answer of LangGraph's clients is one; else it is a value
            of the application's.

    Raises:
        Refused: INVALID_INPUT.
    """
    if isinstance(body.get("resume"), dict):
        entries = read_draft(body["resume"])
        # The draft's own examples carry nothing but the answer.
        return _Shaped({"messages": [], **body, "resume": entries}, "draft", not entries)
    if commands and not body.get("resume") and (command := read_command(body)) is not None:
        return _Shaped({**body, "resume": command}, "langgraph", not command)
    return _Shaped(body)


def _refusals(props: Any) -> RefusalChoice | None:
    asked = props.get("refusals") if isinstance(props, Mapping) else None
    return None if asked is None else refusal_choice(asked, "forwardedProps.refusals")


def _chosen(choice: DialectChoice, version: Dialect) -> Dialect:
    """The dialect of the answer: as chosen, on top of the declared version."""
    if choice == "draft":
        return draft_dialect(version)
    if choice in ("langgraph", "langgraph-both"):
        return langgraph_dialect(version, outcome=choice == "langgraph-both")
    return version


def _validated(body: Mapping[str, Any]) -> Generator[None, None, RunAgentInput]:
    """The input as a model, list by list.

    Raises:
        Refused: INVALID_INPUT, naming the first field that is wrong.
    """
    members = {
        field: given for field in _LISTS if isinstance(given := body.get(field), list) and given
    }
    field: str | None = None
    try:
        parsed = RunAgentInput.model_validate({**body, **{name: [] for name in members}})
        for field, given in members.items():
            yield
            if field == "messages":
                given = [
                    without_unknown_parts(message) if isinstance(message, dict) else message
                    for message in given
                ]
            setattr(parsed, field, _LISTS[field].validate_python(given))
            if field == "messages" and (where := no_text(given)) is not None:
                raise _refused(f"messages.{where}", MUST_BE_A_STRING)
    except ValidationError as error:
        first = _first_of(error)
        steps = place_of_fault(first)
        steps = steps if field is None else (field, *steps)
        if field == "messages":
            yield
            steps, first = _within_part(body, steps, first)
        where = ".".join(_steps_in(body, steps, first["type"])) or "the body"
        # Some of pydantic's messages repeat the value, however long it is.
        raise _refused(where, _short(told_field_fault(first))) from None
    return parsed


def _refused(where: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{where}: {reason}.", {"field": where, "reason": reason})


def _first_of(error: ValidationError) -> Any:
    return error.errors(include_url=False, include_input=False)[0]


def _within_part(
    body: Mapping[str, Any], steps: tuple[str | int, ...], fault: Any
) -> tuple[tuple[str | int, ...], Any]:
    """The place and the fault of the part that is wrong, where a message's content is no text.

    Of content that may be a text or parts pydantic says first that it is no text.
    """
    message = body["messages"][steps[1]] if len(steps) > 1 else None
    if "content" not in steps or not isinstance(message, dict) or message.get("role") != "user":
        return steps, fault
    content = message.get("content")
    known = [
        (position, part)
        for position, part in enumerate(content if isinstance(content, list) else ())
        if not is_unknown_part(part)
    ]
    try:
        _PARTS.validate_python([part for _, part in known])
    except ValidationError as error:
        found = _first_of(error)
        position, _ = known[found["loc"][0]]
        return ("messages", steps[1], "content", position, *place_of_fault(found)[1:]), found
    return steps, fault


def _steps_in(body: Any, steps: Sequence[str | int], kind: str) -> Iterator[str]:
    """The way to a member as the client wrote it: pydantic names members of unions, too."""
    at = body
    may_lack = kind in ("missing", "union_tag_not_found")
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if isinstance(at, list) and isinstance(step, int) and step < len(at):
            at = at[step]
        elif isinstance(at, dict) and (step in at or (last and may_lack)):
            at = at.get(step)
        else:
            continue
        yield str(step)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def _supposed(props: Any) -> int:
    """The release of a client that declares none."""
    offers = isinstance(props, Mapping) and OFFERS_SURFACES in props
    return OF_COPILOTKIT if offers else LAST_RELEASE


def _negotiate(declared: str | None, supposed: int) -> tuple[Dialect, tuple[str, ...]]:
    if declared is None or declared.startswith("0."):
        release = supposed if declared is None else release_of(declared)
        return V0 if release == LAST_RELEASE else replace(V0, release=release), ()
    version = parse_version(declared)
    if version is None:
        return V1_1, (f"protocolVersion {declared[:40]!r} can't be read; {NEWEST} is spoken",)
    if not declared.startswith("1."):
        raise Refused(
            "UNSUPPORTED_VERSION",
            f"This server speaks AG-UI {' and '.join(SPOKEN)}; the input declares "
            f"{declared[:40]!r}.",
        )
    if version[1] == 0:
        return V1, ()
    newer = declared not in SPOKEN
    return V1_1, (f"the client speaks {declared}; {NEWEST} is spoken",) if newer else ()


_WHERE = ((), ("runConfig",), ("runConfig", "custom"))
"""Where `agui_bridge.newest` may stand: assistant-ui sends what a page adds to its run as
`runConfig.custom`."""


def newest_told(props: Any) -> str | None:
    """The id that an input's `forwardedProps` give as the page's newest turn message.

    Source: docs/contract.md, G2 and G3.

    Raises:
        Refused: INVALID_INPUT, what is given is no text.
    """
    for path in _WHERE:
        given = props
        for name in (*path, "agui_bridge", "newest"):
            given = given.get(name) if isinstance(given, Mapping) else None
        if given is None:
            continue
        if not isinstance(given, str) or not given:
            field = ".".join(("forwardedProps", *path, "agui_bridge", "newest"))
            raise Refused(
                "INVALID_INPUT",
                f"{field}: must be the id of a message, the newest one that the page has.",
                {"field": field},
            )
        return given
    return None
