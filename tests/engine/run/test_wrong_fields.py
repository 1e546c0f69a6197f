"""A pause with a wrong field: its author is told which, and the thread goes on."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agui_bridge.adapters import Ask, Handoff, Pause, Run, RunItem
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.previews import DiffPreview
from agui_bridge.protocol.threads.records import ToolCall
from tests.support.agents import Bench, Scripted, outcome

CALL: Final = ToolCall("c", "pay", {"amount": 1})
RIGHT: Final[Mapping[type, Mapping[str, Any]]] = {
    Ask: {"native_id": "n", "reason": "tool_call", "tool_call": CALL},
    ToolCall: dataclasses.asdict(CALL),
    Pause: {"asks": [Ask("n")]},
    Handoff: {"tool_call_ids": ["c"]},
}


class Unprintable:
    """A value that can't even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


NO_SEQUENCE = [None, 7, 2.5, True, "edit", b"edit", {"a": 1}, {"edit"}, int, Unprintable()]
NO_TEXT = [7, 2.5, True, b"n", [], {}, int, Unprintable()]
NO_OBJECT = [7, True, "text", [], [("type", "object")], {1, 2}, dict, Unprintable()]

WRONG: Final[Mapping[tuple[type, str], list[Any]]] = {
    (Ask, "native_id"): [None, *NO_TEXT],
    (Ask, "reason"): [None, *NO_TEXT],
    (Ask, "message"): NO_TEXT,
    (Ask, "tool_call"): ["c", 7, {"id": "c", "name": "pay", "args": {}}, ToolCall, Unprintable()],
    (Ask, "about"): NO_TEXT,
    (Ask, "permits"): [None, 1, "yes", [], bool, Unprintable()],
    (Ask, "parameters"): NO_OBJECT,
    (Ask, "response_schema"): NO_OBJECT,
    (Ask, "allowed"): [*NO_SEQUENCE[1:], ["edits"], [None], ["approve", 7], [["edit"]]],
    (Ask, "expires_in"): [
        *("soon", True, -1, -0.001, LONGEST_WAIT * 2, 10**400, [], Unprintable()),
        *(float("nan"), float("inf"), float("-inf")),
    ],
    (Ask, "expires_at"): ["soon", True, -1, [], float("nan"), float("inf")],
    (Ask, "subagent_run_id"): NO_TEXT,
    (Ask, "metadata"): NO_OBJECT,
    (Ask, "approvers"): [*NO_SEQUENCE[1:], [], [7], [""], ["role:"]],
    (Ask, "quorum"): [0, -1, True, "2", 1.5],
    (Ask, "preview"): ["--- a", {"type": "diff"}, [], DiffPreview, Unprintable()],
    (ToolCall, "id"): [None, *NO_TEXT],
    (ToolCall, "name"): [None, *NO_TEXT],
    (ToolCall, "args"): [None, *NO_OBJECT],
    (Pause, "asks"): [*NO_SEQUENCE, ["n"], [None], [Ask], [Ask("n"), 7], Ask("n")],
    (Pause, "frontend_calls"): [*NO_SEQUENCE, [7], [None], ["c", b"d"]],
    (Pause, "held"): [None, 0, 1, "no", []],
    (Handoff, "tool_call_ids"): [*NO_SEQUENCE, [7], [None], ["c", b"d"]],
}
"""By class and field, what must be refused. `continuation` is any JSON: see test_refused_pauses."""

wrong_fields = st.sampled_from(list(WRONG)).flatmap(
    lambda field: st.tuples(st.just(field), st.sampled_from(WRONG[field]))
)


def build(kind: type, field: str, value: Any) -> RunItem:
    """What an adapter would yield, with one field wrong."""
    built: Any = kind(**{**RIGHT[kind], field: value})
    if kind is ToolCall:
        built = Ask("n", "tool_call", tool_call=built)
    return Pause([built]) if isinstance(built, Ask) else built


def name_of(kind: type, field: str) -> str:
    """The field as the fault names it."""
    return f"Ask.tool_call.{field}" if kind is ToolCall else f"{kind.__name__}.{field}"


def test_every_field_has_values_that_are_refused() -> None:
    fields = {(kind, field.name) for kind in RIGHT for field in dataclasses.fields(kind)}
    assert fields - set(WRONG) == {(Pause, "continuation"), (Handoff, "continuation")}


@pytest.mark.parametrize(("kind", "field"), WRONG)
def test_a_wrong_field_is_named_where_it_is_built(kind: type, field: str) -> None:
    for value in WRONG[kind, field]:
        with pytest.raises(AgentMistake, match=rf"^{name_of(kind, field)} must be .*, not .+\.$"):
            build(kind, field, value)


def test_a_fault_shows_what_was_given_and_no_more_than_helps() -> None:
    def fault(**members: Any) -> str:
        with pytest.raises(AgentMistake) as caught:
            Ask(**{"native_id": "n", **members})
        return str(caught.value)

    assert fault(message=int) == "Ask.message must be a str or None, not the class int."
    assert fault(expires_in="soon") == (
        "Ask.expires_in must be 0 to 3153600000 seconds or None, not str 'soon'."
    )
    assert fault(metadata=["secret"]).endswith("not list.")
    assert len(fault(parameters="x" * 10_000)) < 200


@given(wrong=wrong_fields)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_wrong_field_ends_the_run_at_once_and_leaves_the_thread_usable(
    caplog: pytest.LogCaptureFixture, wrong: tuple[tuple[type, str], Any]
) -> None:
    (kind, field), value = wrong
    caplog.clear()

    async def ask(run: Run) -> AsyncIterator[RunItem]:
        yield "I ask. "
        yield build(kind, field, value)

    async def talk() -> None:
        bench = Bench(Scripted(ask, ["next"]))
        async with asyncio.timeout(10):
            events = await bench.say("go")
            assert outcome(events) == "AGENT_ERROR"
            assert "must be" not in str(events), "the author's fault is not the client's affair"
            assert (await bench.load()).interrupts == {}
            assert outcome(await bench.say("more")) == "success"

    with caplog.at_level(logging.ERROR, "agui_bridge"):
        asyncio.run(talk())
    assert f"{name_of(kind, field)} must be" in caplog.text


@pytest.mark.parametrize(
    "right",
    [
        lambda: Ask("n", "tool_call", tool_call=CALL, allowed=["approve"]),
        lambda: Ask("n", "tool_call", tool_call=CALL, allowed=(), expires_in=0),
        lambda: Ask("", expires_in=LONGEST_WAIT, message="", metadata={}),
        lambda: Ask("n", response_schema={}, parameters={}, subagent_run_id=None),
    ],
)
def test_what_is_unusual_and_right_is_let_through(right: Callable[[], Ask]) -> None:
    assert right().native_id in ("n", "")
