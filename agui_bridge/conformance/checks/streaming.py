"""The stream itself: framing, types, order, ids, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.conformance.check import Table
from agui_bridge.conformance.exchange import Answer, shortened
from agui_bridge.conformance.lab import UNRELATED, Lab
from agui_bridge.conformance.verdicts import Blocked, Need, expect, fail, require
from agui_bridge.protocol.verifier.verifier import Verifier
from agui_bridge.protocol.versions import SPOKEN, parse_version

_SSE = "AG-UI 1.0, http-sse"
_LIFECYCLE = "AG-UI 1.0, lifecycle"
_VERSIONS = "AG-UI 1.0, versioning"

STREAMING = Table("stream", needs=("approval",))

_FREE: Final = frozenset(
    {"snapshot", "delta", "rawEvent", "value", "result", "metadata", "content", "responseSchema",
     "input", "state", "event", "patch"}
)  # fmt: skip
"""Members that hold JSON of somebody else's, which may have nulls."""


@dataclass(frozen=True, slots=True)
class _Streams:
    """A few streams of an endpoint.

    Attributes:
        answers: of runs that began, never none.
        note: what they lack, if anything, for the report.
    """

    answers: Sequence[Answer]
    note: str | None = None


async def _streams(lab: Lab) -> _Streams:
    """Streams as they are in any use: text, a pause, a refusal, answers of either kind.

    Raises:
        Blocked: no run began.
    """
    seen: list[Answer] = []
    note: str | None = None
    if lab.config.prompts.text is not None:
        seen.append(await lab.thread().say("text"))
    for how in ("approve", "deny"):
        thread = lab.thread()
        try:
            await lab.paused(thread=thread)
            await thread.write(UNRELATED)
            await thread.answer(how)
        except Blocked:
            note = "judged without a question, since prompts.approval raised none"
        seen += thread.answers
    began = [answer for answer in seen if 0 < answer.status < 400]
    require(began, f"no run began: {seen[-1].told()}")
    return _Streams(began, note)


@STREAMING.check(
    source=f"{_SSE}: framing",
    fix="Write `data: {json}\\n\\n`. Some libraries write CRLF, which clients can't read.",
)
async def framing(lab: Lab) -> str | None:
    """The stream is text/event-stream in UTF-8 with LF line ends, one JSON event per data field."""
    streams = await _streams(lab)
    for answer in streams.answers:
        kind = answer.headers.get("content-type", "")
        expect(kind.partition(";")[0] == "text/event-stream", f"the content type is {kind!r}")
        expect(b"\r" not in answer.raw, "lines end with CR")
        expect(not answer.junk, f"data that is no JSON object: {answer.junk[:1]}")
        try:
            answer.raw.decode()
        except UnicodeDecodeError as error:
            fail(f"not UTF-8: {error}")
        frames = answer.raw.decode().split("\n\n")
        several = [f for f in frames if sum(li.startswith("data:") for li in f.split("\n")) > 1]
        expect(not several, f"several data fields in one frame: {several[:1]}")
    return streams.note


@STREAMING.check(
    source=f"{_LIFECYCLE}: event types; optional members are omitted",
    fix="Build events with ag_ui.core or @ag-ui/core, and leave out what has no value.",
)
async def types(lab: Lab) -> str | None:
    """Every event has the members that its type says, and no null for a missing one."""
    streams = await _streams(lab)
    for answer in streams.answers:
        expect_none(shape_faults(answer.events))
        for event in answer.events:
            nulls = list(_nulls(event, str(event.get("type"))))
            shown = [shortened("event", event)]
            expect(not nulls, f"null instead of absent: {', '.join(nulls)}", shown)
    return streams.note


@STREAMING.check(
    source=f"{_LIFECYCLE}: order",
    fix="Close messages, calls, steps and sub-agents before RUN_FINISHED; send nothing after it.",
)
async def order(lab: Lab) -> str | None:
    """A run begins with RUN_STARTED, closes what it opened, and ends once."""
    streams = await _streams(lab)
    for answer in streams.answers:
        expect_none(order_faults(answer.events))
        expect(answer.broken is None, f"the stream broke off: {answer.broken}")
    named = [agent for answer in streams.answers for agent in unannounced_subagents(answer.events)]
    if not named:
        return streams.note
    return (
        f"the sub-agent {named[0]!r} is named without SUBAGENT_STARTED, as "
        f"{len(set(named))} in all: it is allowed, but clients can't show whose work it is"
    )


@STREAMING.check(
    source=f"{_LIFECYCLE}: ids",
    fix="Copy threadId and runId of the input into RUN_STARTED and RUN_FINISHED.",
)
async def ids(lab: Lab) -> str | None:
    """Every run of a stream carries the input's threadId; the last one echoes its runId."""
    streams = await _streams(lab)
    for answer in streams.answers:
        for event in answer.of("RUN_STARTED", "RUN_FINISHED"):
            thread = event.get("threadId")
            wanted = answer.sent["threadId"]
            said = f"{event['type']}: threadId is {thread!r}, not {wanted!r}"
            expect(thread == wanted, said, [shortened("event", event)])
        for kind in ("RUN_STARTED", "RUN_FINISHED"):
            if last := answer.of(kind)[-1:]:
                run, wanted = last[0].get("runId"), answer.sent["runId"]
                shown = [shortened("event", last[0])]
                expect(run == wanted, f"{kind}: runId is {run!r}, not {wanted!r}", shown)
    return streams.note


@STREAMING.check(
    source=f"{_LIFECYCLE}: TEXT_MESSAGE_CONTENT",
    fix="Drop empty pieces of the model's stream.",
    needs=("text",),
    severity="should",
)
async def no_empty_deltas(lab: Lab) -> None:
    """No TEXT_MESSAGE_CONTENT is empty."""
    answer = await lab.thread().say("text")
    empty = [event for event in answer.of("TEXT_MESSAGE_CONTENT") if not event.get("delta")]
    expect(not empty, f"{len(empty)} of them are empty")


_NOBODYS: Final = "1.999999"
"""A version that nobody speaks: who declares it repeats what was sent."""


@STREAMING.check(
    source=f"{_VERSIONS}: protocolVersion",
    fix="Send the version of AG-UI 1.x that you speak in RUN_STARTED; never echo the input's.",
    needs=("text",),
)
async def version(lab: Lab) -> None:
    """RUN_STARTED carries the producer's protocolVersion, whatever the client's is."""
    for declared in (*SPOKEN, _NOBODYS):
        answer = await lab.thread().say("text", protocolVersion=declared)
        if answer.status >= 400:
            continue  # Another check tells of it.
        told = [event.get("protocolVersion") for event in answer.of("RUN_STARTED")]
        spoken = parse_version(told[-1]) if told and isinstance(told[-1], str) else None
        said = f"for a client of {declared} it is {told}"
        expect(spoken is not None and spoken[0] == 1 and told[-1] != _NOBODYS, said)


@STREAMING.check(
    source=f"{_VERSIONS}: minor versions",
    fix="Serve 1.x clients; only another major version may be refused.",
    needs=("text",),
)
async def newer_minor(lab: Lab) -> None:
    """A client of a newer minor version is served."""
    (await lab.thread().say("text", protocolVersion="1.7")).expect_success()


@STREAMING.check(
    source=f"{_VERSIONS}: absent protocolVersion; @ag-ui/client 0.0.59",
    fix="Leave out cancelled, pendingToolCallIds and expiresAt for clients without a version.",
    severity="should",
)
async def older_client(lab: Lab) -> None:
    """A client that declares no version gets only shapes that clients before 1.0 accept."""
    need: Need = "expiring" if lab.config.prompts.expiring is not None else "approval"
    answer = await lab.thread().say(need, protocolVersion=None)
    require(answer.outcome == "interrupt", f"it did not ask: {answer.told()}")
    shown = any("expiresAt" in interrupt for interrupt in answer.interrupts)
    expect(not shown, "expiresAt, which bricks an expired card of @ag-ui/client 0.0.59")


@STREAMING.check(
    source="AG-UI 1.0, run-input: unknown members",
    fix="Ignore what you do not know, with a warning in your log.",
    needs=("text",),
)
async def unknown_members(lab: Lab) -> None:
    """Unknown members of the input are ignored."""
    (await lab.thread().say("text", xFromTheFuture={"a": [1]})).expect_success()


@STREAMING.check(
    source="AG-UI 1.0, run-input: malformed members",
    fix="Validate the body first, and answer 400 or 422 with the member's name.",
)
async def malformed(lab: Lab) -> None:
    """An input with a malformed known member is refused with an HTTP error, before any event."""
    thread = lab.thread()
    bodies: Mapping[str, Any] = {
        "no JSON": b"{",
        "messages of the wrong type": {**thread.input(text="hello"), "messages": "hello"},
        "a resume entry without status": {**thread.input(), "resume": [{"interruptId": "x"}]},
        "no threadId": {k: v for k, v in thread.input().items() if k != "threadId"},
    }
    for what, body in bodies.items():
        answer = await thread.send(body)
        expect(400 <= answer.status < 500, f"{what}: HTTP {answer.status}, {answer.told()}")


def _nulls(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if item is None and key not in _FREE:
                yield f"{where}.{key}"
            elif key not in _FREE:
                yield from _nulls(item, f"{where}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _nulls(item, where)


Event = Mapping[str, Any]


_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class StreamFault:
    """One thing that is wrong with a stream.

    Attributes:
        message: what, and at which event.
        evidence: that event and the one before it, shortened.
    """

    message: str
    evidence: tuple[str, ...] = ()


def order_faults(events: Sequence[Event]) -> list[StreamFault]:
    """Every break of order, attribution or the rules of chunks.

    Args:
        events: of one response, in order; several runs may follow each other.
    """
    if not events:
        return [StreamFault("there are no events")]
    return [fault for rule, fault in _faults(events) if rule != "shape"]


def shape_faults(events: Sequence[Event]) -> list[StreamFault]:
    """Every member that does not hold what its type says."""
    return [fault for rule, fault in _faults(events) if rule == "shape"]


def expect_none(faults: Sequence[StreamFault]) -> None:
    """Fail the check if there are faults.

    Raises:
        Failed: there are; it tells a few, and shows the events of the first.
    """
    if faults:
        more = f" (and {len(faults) - _TOLD} more)" if len(faults) > _TOLD else ""
        told = "; ".join(fault.message for fault in faults[:_TOLD])
        fail(f"{told}{more}", faults[0].evidence)


def unannounced_subagents(events: Sequence[Event]) -> list[str]:
    """Sub-agents that events name before, or without, SUBAGENT_STARTED, which is allowed."""
    announced: set[Any] = set()
    found: dict[str, None] = {}
    for event in events:
        agent = event.get("subagentRunId")
        if event.get("type") == "SUBAGENT_STARTED":
            announced.add(agent)
        elif isinstance(agent, str) and agent not in announced:
            found[agent] = None
    return list(found)


def _faults(events: Sequence[Event]) -> Iterator[tuple[str, StreamFault]]:
    verifier = Verifier("strict", lambda: "unnamed")
    for number, event in enumerate(events):
        if not isinstance(event.get("type"), str):
            yield "shape", StreamFault(f"event {number} has no type", _around(events, number))
            continue
        for fault in verifier.take(dict(event)).faults:
            said = f"event {number}: {fault.message}"
            yield fault.rule, StreamFault(said, _around(events, number))
    if unended := verifier.close():
        said = f"{unended.message}, after {events[-1].get('type')}"
        yield unended.rule, StreamFault(said, _around(events, len(events) - 1))


def _around(events: Sequence[Event], number: int) -> tuple[str, ...]:
    """An event and the one before it, shortened."""
    return tuple(shortened(f"event {n}", events[n]) for n in (number - 1, number) if n >= 0)
