"""A tool of a framework that asks in its middle: one call, carried out in rounds, with one result.

What the tool does is counted by the tool. Each round is another process's: another bridge on the
same store, with an adapter made anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest

from agui_bridge import Answer, Ask, Bridge, NeedsInput, ProposedCall, Verdict, answered
from agui_bridge.frameworks.needs_input import MAX_ROUNDS
from agui_bridge.protocol.answers.unexecuted import ASKED_TOO_OFTEN, stopped_by_policy
from agui_bridge.testing import talk
from tests.adapters.cashiers import CASHIERS, Cashier, by_place

pytestmark = pytest.mark.timeout(120)

Ruling: TypeAlias = Literal["allow", "ask", "deny"]
ABLE: Final = (
    *("adk", "agent_framework", "langgraph", "langgraph_nodes", "langgraph_per_call"),
    *("llama_index", "pydantic_ai", "strands"),
)
"""Whose tools can."""

UNABLE: Final = tuple(name for name in CASHIERS if name not in ABLE)

able = pytest.mark.parametrize("kind", [CASHIERS[name] for name in ABLE], ids=ABLE)

APPROVED_OUTSIDE: Final = tuple(name for name in ABLE if name != "langgraph_nodes")
"""Whose tools don't ask for their approvals themselves: in one call they ask in one way."""

CODE: Final = {"type": "string", "pattern": "^[0-9]+$"}


def asking(kind: type[Cashier], rounds: int = 2, **options: Any) -> Any:
    """A cashier of a kind whose tools ask so often, and note what each round was given."""

    class Asking(kind):  # type: ignore[valid-type, misc]
        def pay(self, to: str) -> str | NeedsInput:
            """Pay somebody."""
            return self.ask("pay", to) if self.gated else super().pay(to)

        def look(self, to: str) -> str | NeedsInput:
            """Look somebody up."""
            return self.ask("look", to)

        def ask(self, what: str, to: str) -> str | NeedsInput:
            given = answered()
            asked = given.round if given is not None else 0
            code = given.answers["code"] if given is not None else None
            said = code.payload if isinstance(code, Answer) else type(code).__name__
            self.done.append((what, to, asked, said, given.state if given is not None else None))
            if asked < rounds and (asked == 0 or isinstance(code, Answer)):
                ask = Ask("code", message=f"Code {asked + 1}?", response_schema=CODE)
                return NeedsInput([ask], {"round": asked})
            return f"{what} {to}: {said}"

    return Asking(by_place, **options)


class House:
    """Bridges over one store, one after the other."""

    def __init__(self, cashier: Any, folder: Path) -> None:
        self.cashier = cashier
        self.says: list[Ruling] = []
        self.heard: list[ProposedCall] = []
        self._store = f"sqlite:///{folder}/agents.db"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        bridge = Bridge(self._store)
        bridge.add("cashier", self.cashier.adapter())
        if self.says:
            bridge.policy(self._judge)
        async with talk(bridge, "cashier", store=self._store) as one:
            yield one

    def _judge(self, call: ProposedCall) -> Verdict:
        self.heard.append(call)
        return Verdict(self.says[-1], reason="late")

    async def say(self, text: str) -> Any:
        async with self.open() as one:
            return await one.say(text)

    async def answer(self, asked: Any, *payloads: Any) -> Any:
        async with self.open() as one:
            return await one.answer(asked, *payloads)


def call_of(stream: Any) -> str:
    """The call that a stream's only question belongs to."""
    (ask,) = stream.asks
    return str(ask["toolCallId"])


def results(stream: Any) -> list[str]:
    return [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]


@able
async def test_a_call_that_asks_in_rounds_has_one_result(
    kind: type[Cashier], tmp_path: Path
) -> None:
    cashier = asking(kind, gated=False)
    house = House(cashier, tmp_path)
    first = await house.say("look bob")
    call = call_of(first)
    assert first.count("TOOL_CALL_START", call) == 1
    second = await house.answer(first, "11")
    assert (call_of(second), second.asks[0]["message"]) == (call, "Code 2?")
    third = await house.answer(second, "22")
    assert third.ending == "success", third.fault
    again = await house.answer(second, "22")
    assert results(first) + results(second) == []
    assert results(third) == ["look bob: 22"]
    assert second.count("TOOL_CALL_START", call) + third.count("TOOL_CALL_START", call) == 0
    assert again.ending == "success"
    assert cashier.done == [
        ("look", "bob", 0, "NoneType", None),
        ("look", "bob", 1, "11", {"round": 0}),
        ("look", "bob", 2, "22", {"round": 1}),
    ]
    told = [one.text for one in cashier.requests[-1] if one.by == "tool"]
    assert told == ["look bob: 22"]


@pytest.mark.parametrize(
    "kind", [CASHIERS[name] for name in APPROVED_OUTSIDE], ids=APPROVED_OUTSIDE
)
async def test_an_answer_changes_no_argument_of_an_approved_call(
    kind: type[Cashier], tmp_path: Path
) -> None:
    cashier = asking(kind, rounds=1)
    house = House(cashier, tmp_path)
    approval = await house.say("pay bob")
    edited = True in cashier.edits
    yes = {"approved": True, "editedArgs": {"to": "ann"}} if edited else {"approved": True}
    asked = await house.answer(approval, yes)
    assert call_of(asked) == call_of(approval)
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    to = "ann" if edited else "bob"
    assert [one[:4] for one in cashier.done] == [
        ("pay", to, 0, "NoneType"),
        ("pay", to, 1, "11"),
    ]
    assert len(results(ended)) == 1
    if edited and cashier.notes_edits:
        # Its model reads what it called itself, and has to read what ran.
        heard = cashier.requests[-1]
        (call,), (told,) = ([one.text for one in heard if one.by == by] for by in ("call", "tool"))
        assert call == "ann" or '"to":' in told


@able
async def test_what_ran_beside_it_runs_no_second_time(kind: type[Cashier], tmp_path: Path) -> None:
    cashier = asking(kind, rounds=1, gated=False)
    house = House(cashier, tmp_path)
    asked = await house.say("paylook bob")
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    assert sorted(map(str, cashier.done)) == sorted(
        map(
            str,
            [
                "pay bob",
                ("look", "bob-1", 0, "NoneType", None),
                ("look", "bob-1", 1, "11", {"round": 0}),
            ],
        )
    )


@able
async def test_who_does_not_answer_is_told_to_the_tool(kind: type[Cashier], tmp_path: Path) -> None:
    cashier = asking(kind, gated=False)
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    async with house.open() as one:
        ended = await one.cancel(asked)
    assert results(ended) == ["look bob: Cancel"], ended.fault


@able
@pytest.mark.parametrize("says", ["deny", "ask"])
async def test_a_policy_may_end_a_call_between_two_rounds(
    kind: type[Cashier], says: Ruling, tmp_path: Path
) -> None:
    cashier = asking(kind, gated=False)
    house = House(cashier, tmp_path)
    house.says = ["allow"]
    asked = await house.say("look bob")
    house.says = [says]
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    assert results(ended) == [stopped_by_policy("late")]
    assert len(cashier.done) == 1
    assert [call.args for call in house.heard] == [{"to": "bob"}] * 2


@able
async def test_a_stop_between_two_rounds_ends_the_call(kind: type[Cashier], tmp_path: Path) -> None:
    cashier = asking(kind, gated=False)
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    async with house.open() as one:
        await one.stop()
        late = await one.answer(asked, "11")
    assert late.ending == "INTERRUPT_ALREADY_ANSWERED"
    assert len(cashier.done) == 1


@able
async def test_rounds_are_bounded(kind: type[Cashier], tmp_path: Path) -> None:
    cashier = asking(kind, rounds=100, gated=False)
    house = House(cashier, tmp_path)
    stream = await house.say("look bob")
    async with house.open() as one:
        for _ in range(MAX_ROUNDS):
            stream = await one.answer(stream, "11")
    assert stream.ending == "success", stream.fault
    assert results(stream) == [ASKED_TOO_OFTEN]
    assert len(cashier.done) == MAX_ROUNDS + 1


@pytest.mark.parametrize("kind", [CASHIERS[name] for name in UNABLE], ids=UNABLE)
async def test_where_nobody_can_be_asked_the_run_fails(
    kind: type[Cashier], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cashier = asking(kind, gated=False)
    ended = await House(cashier, tmp_path).say("look bob")
    assert ended.ending == "AGENT_ERROR"
    assert "NeedsInput where nobody can be asked" in caplog.text
    assert "round" not in str(ended.events)
    assert len(cashier.done) == 1
    assert all(one.by != "tool" for heard in cashier.requests for one in heard)
