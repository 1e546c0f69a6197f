"""Questions pause, come as one batch, and are never asked twice."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from agui_bridge.agents.function.approval import Approval
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from agui_bridge.protocol.schemas.checking import UnsafeSchema
from tests.agents.function.harness import Thread, no, yes

pytestmark = pytest.mark.anyio


class Quarter(BaseModel):
    year: int
    name: str = "Q1"

    @field_validator("year")
    @classmethod
    def plausible(cls, year: int) -> int:
        if year < 1900:
            raise ValueError("too early")
        return year


async def test_an_approval_tells_approved_edited_declined_cancelled_and_expired_apart() -> None:
    seen: list[Approval] = []

    async def agent(run: FunctionRun) -> None:
        seen.append(await run.approve("t", {"n": 1}))

    decisions = (
        Approve({"n": 1}, {"approved": True, "note": "x"}),
        Approve({"n": 2}, {"approved": True}, edited=True),
        Decline("why", {"approved": False, "reason": "why"}),
        Cancel("cancelled"),
        Cancel("expired"),
    )
    for decision in decisions:
        thread = Thread(lambda: agent)
        await thread.go()
        await thread.answer([decision])
    assert [(bool(a), a.args, a.edited, a.reason, a.cause, a.cancelled) for a in seen] == [
        (True, {"n": 1}, False, None, None, False),
        (True, {"n": 2}, True, None, None, False),
        (False, {"n": 1}, False, "why", None, False),
        (False, {"n": 1}, False, None, "cancelled", True),
        (False, {"n": 1}, False, None, "expired", True),
    ]
    assert seen[0].payload == {"approved": True, "note": "x"}
    assert seen[0].tool_call_id == "id0"


async def test_an_approval_s_ask_carries_its_settings_and_parameters() -> None:
    def tool(table: str, limit: int = 5) -> None: ...

    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(
            run.approve("model", {}, parameters=Quarter, expires_in=9, metadata={"a": 1}),
            run.approve("schema", {}, parameters={"type": "object"}, editable=False),
            run.approve("signature", {"table": "t"}, fn=tool),
        )

    model, schema, signature = (await Thread(lambda: agent).go()).pause.asks
    assert model.parameters == {**Quarter.model_json_schema(), "additionalProperties": False}
    assert (model.expires_in, model.metadata) == (9, {"a": 1})
    assert (schema.parameters, schema.allowed) == ({"type": "object"}, ("approve", "decline"))
    assert signature.parameters is not None
    assert set(signature.parameters["properties"]) == {"table", "limit"}


async def test_an_unsafe_schema_is_refused_where_it_is_written() -> None:
    bad: Mapping[str, Any] = {"$ref": "http://x/y"}

    async def ask(run: FunctionRun) -> None:
        await run.ask("?", schema=bad)

    async def approve(run: FunctionRun) -> None:
        await run.approve("t", {}, parameters=bad)

    for agent in (ask, approve):
        with pytest.raises(UnsafeSchema):
            await Thread(lambda agent=agent: agent).go()  # type: ignore[misc]  # mypy infers no lambda with a default


async def test_ask_returns_the_model_or_the_payload_and_none_when_nobody_answered() -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        form = await run.ask("Which quarter?", schema=Quarter, expires_in=5)
        seen.append(form)
        seen.append(await run.ask("Free?", reason="acme:free", metadata={"m": 1}))
        seen.append(await run.ask("Gone?", schema={"type": "string"}))
        seen.append(await run.decide("Late?"))

    thread = Thread(lambda: agent)
    (form,) = (await thread.go()).pause.asks
    assert form.response_schema == Quarter.model_json_schema()
    assert (form.reason, form.message, form.expires_in) == ("input_required", "Which quarter?", 5)
    (free,) = (await thread.answer([Answer({"year": 2020})])).pause.asks
    assert (free.reason, free.response_schema, free.metadata) == ("acme:free", None, {"m": 1})
    await thread.answer([Answer(0)])
    await thread.answer([Cancel("cancelled")])
    await thread.answer([Cancel("expired")])
    assert seen[-4:] == [Quarter(year=2020), 0, None, Cancel("expired")]


async def test_a_payload_that_only_the_model_s_validators_refuse_raises_in_the_function() -> None:
    async def agent(run: FunctionRun) -> None:
        await run.ask("Which quarter?", schema=Quarter)

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(ValidationError, match="too early"):
        await thread.answer([Answer({"year": 5})])


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Answer({"confirm": True}), True),
        (Answer({"confirm": False}), False),
        (Answer({"confirm": "true"}), False),
        (Answer(None), False),
        (Cancel(), False),
    ],
)
async def test_confirm_is_true_only_for_a_true_confirm(decision: Any, expected: bool) -> None:
    async def agent(run: FunctionRun) -> str:
        return str(await run.confirm("Sure?", metadata={"m": 1}))

    thread = Thread(lambda: agent)
    (ask,) = (await thread.go()).pause.asks
    assert (ask.reason, ask.response_schema, ask.metadata) == ("confirmation", None, {"m": 1})
    assert (await thread.answer([decision])).text == str(expected)


async def test_an_approval_in_a_loop_of_five_asks_five_times_and_acts_on_each_answer() -> None:
    done: list[int] = []
    rounds: list[str] = []

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for n in range(5):
            yield f"[{n}"
            approval = await run.approve("same", {})
            if approval:
                await run.tool(approval, lambda n=n: done.append(n))
            yield f"{approval.approved}]"

    thread = Thread(lambda: agent)
    rounds.append((await thread.go()).text)
    for n in range(5):
        outcome = await thread.answer(yes if n % 2 else no)
        rounds.append(outcome.text)
    assert done == [1, 3]
    assert "".join(rounds) == "[0False][1True][2False][3True][4False]"


async def branch(run: FunctionRun, name: str, done: list[str]) -> str:
    approval = await run.approve("delete", {"table": name})
    if approval:
        await run.tool(approval, lambda table: done.append(table))
        return f"{name}:done"
    return f"{name}:{approval.cause or approval.reason}"


@pytest.mark.parametrize("style", ["gather", "group"])
async def test_three_parallel_approvals_are_one_batch_with_three_fates(style: str) -> None:
    done: list[str] = []

    async def agent(run: FunctionRun) -> str:
        if style == "gather":
            return " ".join(await asyncio.gather(*(branch(run, n, done) for n in "abc")))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(branch(run, n, done)) for n in "abc"]
        return " ".join(task.result() for task in tasks)

    thread = Thread(lambda: agent)
    assert (await thread.go()).asked == ["delete"] * 3
    decisions: list[Decision] = [Approve({"table": "a"}), Decline("no"), Cancel("expired")]
    assert (await thread.answer(decisions)).text == "a:done b:no c:expired"
    assert done == ["a"]


async def test_replayed_steps_that_flip_the_order_of_nested_branches_misroute_nothing() -> None:
    done: list[str] = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def leaf(run: FunctionRun, name: str, delay: float) -> str:
        await run.step(f"wait {name}", wait, delay)
        first = await branch(run, f"{name}1", done)
        await run.step(f"wait again {name}", wait, 0.02 - delay)
        return f"{first} {await branch(run, f'{name}2', done)}"

    async def pair(run: FunctionRun, name: str, delay: float) -> str:
        return " ".join(
            await asyncio.gather(
                leaf(run, f"{name}x", delay), leaf(run, f"{name}y", 0.01 - delay / 2)
            )
        )

    async def agent(run: FunctionRun) -> str:
        return " ".join(await asyncio.gather(pair(run, "p", 0.02), pair(run, "q", 0.0)))

    thread = Thread(lambda: agent)
    assert len((await thread.go()).pause.asks) == 4
    assert len((await thread.answer(yes)).pause.asks) == 4
    last = await thread.answer(yes)
    names = ["px1", "px2", "py1", "py2", "qx1", "qx2", "qy1", "qy2"]
    assert last.text == " ".join(f"{name}:done" for name in names)
    assert sorted(done) == names


async def test_a_pause_waits_for_what_is_under_way_and_for_what_it_starts() -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        await asyncio.sleep(0.02)
        done.append(name)

    async def steps(run: FunctionRun) -> None:
        await run.step("one", work, "one")
        await run.call("two", {"name": "two"}, work)
        await run.confirm("second?")

    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(run.confirm("first?"), steps(run))

    thread = Thread(lambda: agent)
    assert (await thread.go()).asked == ["first?", "second?"]
    assert done == ["one", "two"]


async def test_awaits_outside_run_are_not_waited_for() -> None:
    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(run.confirm("first?"), asyncio.sleep(3600))

    assert (await Thread(lambda: agent).go()).asked == ["first?"]


async def test_a_pause_runs_finally_blocks_in_which_calls_neither_hang_nor_emit() -> None:
    done: list[str] = []

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        try:
            await run.confirm("ok?")
            yield "answered"
        finally:
            done.append("finally")
            try:
                await run.step("late", done.append, "late")
            finally:
                done.append("after")
                yield "never seen at the pause"

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert (first.items, done) == ([], ["finally", "after"])
    done.clear()
    assert (await thread.answer(yes)).items == ["answered", "never seen at the pause"]
    assert done == ["finally", "late", "after"]


async def test_an_agent_that_swallows_its_cancellation_still_pauses() -> None:
    async def agent(run: FunctionRun) -> str:
        try:
            await run.confirm("ok?")
        except asyncio.CancelledError:
            return "swallowed"
        return "answered"

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert (first.items, first.asked) == ([], ["ok?"])
    assert (await thread.answer(yes)).text == "answered"


async def test_a_question_withdrawn_by_the_author_s_timeout_is_not_asked() -> None:
    async def ask(run: FunctionRun) -> str:
        try:
            async with asyncio.timeout(0.01):
                await run.confirm("quick?")
        except TimeoutError:
            return "too late"
        return "in time"

    async def agent(run: FunctionRun) -> str:
        late, _ = await asyncio.gather(ask(run), run.step("slow", asyncio.sleep, 0.05))
        return str(late)

    assert (await Thread(lambda: agent).go()).text == "too late"


async def test_a_frontend_tool_hands_off_and_goes_on_with_the_tool_message() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "a"
        yield str(await run.frontend_tool("pick", {"n": 1}))

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert first.wire == [
        "a",
        ("TOOL_CALL_START", "id0", "pick"),
        ("TOOL_CALL_ARGS", "id0", '{"n":1}'),
        ("TOOL_CALL_END", "id0"),
    ]
    assert first.handoff.tool_call_ids == ["id0"]
    message = {"id": "m", "role": "tool", "toolCallId": "id0", "content": "red"}
    assert (await thread.hand_back({}, raw_messages=[message])).items == ["red"]


async def test_frontend_calls_whose_results_come_one_by_one_are_handed_off_again() -> None:
    async def agent(run: FunctionRun) -> str:
        return str(await asyncio.gather(*(run.frontend_tool("pick", {"n": n}) for n in (1, 2))))

    thread = Thread(lambda: agent)
    assert (await thread.go()).handoff.tool_call_ids == ["id0", "id1"]
    second = await thread.hand_back({"id1": "b"})
    assert (second.items, second.handoff.tool_call_ids) == ([], ["id0"])
    assert (await thread.hand_back({"id0": [{"type": "text", "text": "a"}]})).text == (
        "[[{'type': 'text', 'text': 'a'}], 'b']"
    )


async def test_a_frontend_tool_beside_a_question_pauses_first_and_hands_off_what_is_missing() -> (
    None
):
    async def agent(run: FunctionRun) -> str:
        return str(await asyncio.gather(run.confirm("ok?"), run.frontend_tool("pick", {})))

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert (first.asked, first.pause.frontend_calls) == (["ok?"], ["id1"])
    second = await thread.answer(yes)
    assert (second.items, second.handoff.tool_call_ids) == ([], ["id1"])
    assert (await thread.hand_back({"id1": "red"})).text == "[True, 'red']"
