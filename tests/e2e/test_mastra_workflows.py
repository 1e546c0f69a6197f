"""A real Mastra server's workflows behind the bridge: what nobody approved is never executed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import yaml

from agui_bridge import Bridge
from agui_bridge.client import Client, Resolved
from agui_bridge_mastra import MastraAdapter
from tests.cli.processes import Serving, serving
from tests.e2e.mastra import fresh
from tests.e2e.workflow_pauses import (
    NO,
    PAUSES,
    YES,
    Conversing,
    Pausing,
    done_with,
    statuses,
    workflows_before,
)
from tests.support.agents import eventually
from tests.support.mastra import MastraProcess

EVERY = pytest.mark.parametrize("pausing", PAUSES.values(), ids=PAUSES)


@pytest.fixture
async def workflows(mastra: MastraProcess) -> AsyncIterator[Bridge]:
    """A bridge before the server's workflows."""
    bridge = workflows_before(mastra)
    async with bridge.lifespan():
        yield bridge


def before_asking(done: list[str]) -> list[str]:
    """What is done without an answer: an item that does not ask."""
    return [what for what in done if what.startswith("some-item b")]


@EVERY
async def test_each_question_is_asked_once_and_its_answer_reaches_the_step_that_asked(
    mastra: MastraProcess, workflows: Bridge, pausing: Pausing
) -> None:
    talk = Conversing(workflows, pausing)
    await talk.begin()
    assert talk.done(mastra) == before_asking(talk.wanted)
    told = [*talk.events]
    for answers in pausing.rounds:
        assert talk.ending == "interrupt"
        assert len(talk.asks) == len(answers), talk.asks
        await talk.answer(*answers)
        told += talk.events

    assert talk.ending == "success"
    assert talk.done(mastra) == talk.wanted
    assert statuses(mastra, pausing.workflow, talk.n) == ["success"]
    assert "__workflow_meta" not in str(told)


@EVERY
async def test_what_is_cancelled_is_not_executed_and_nobody_can_continue_it(
    mastra: MastraProcess, workflows: Bridge, pausing: Pausing
) -> None:
    talk = Conversing(workflows, pausing)
    await talk.begin()
    (started,) = statuses(mastra, pausing.workflow, talk.n)
    await talk.answer(*(None for _ in talk.asks))

    assert started == "suspended"
    assert talk.ending == "success"
    assert "The workflow was cancelled: nobody answered what it asked (" in spoken(talk)
    assert talk.done(mastra) == before_asking(talk.wanted)
    assert statuses(mastra, pausing.workflow, talk.n) == ["canceled"]


@pytest.mark.parametrize(
    ("name", "rounds", "done"),
    [
        ("foreach", [(None, YES), (NO,)], ["each-item {n}y True", "each-item {n}z False"]),
        ("foreach", [(YES, None), (None,)], ["each-item {n}x True"]),
        ("parallel", [(None, YES)], ["right {n} True"]),
        ("nested parallel", [(YES, None)], ["left {n} True"]),
        ("branches", [(None, NO)], ["second-branch {n} False"]),
        ("foreach of nested", [(YES,), (None,)], ["inner-step {n}x True"]),
        ("until", [(NO,), (None,)], ["round {n} False"]),
    ],
)
async def test_beside_what_is_cancelled_the_others_are_executed_and_then_the_workflow_ends(
    mastra: MastraProcess,
    workflows: Bridge,
    name: str,
    rounds: list[tuple[object, ...]],
    done: list[str],
) -> None:
    talk = Conversing(workflows, PAUSES[name])
    await talk.begin()
    for answers in rounds:
        assert talk.ending == "interrupt"
        await talk.answer(*answers)

    assert talk.ending == "success"
    assert "The workflow was cancelled: nobody answered what it asked (" in spoken(talk)
    assert talk.done(mastra) == [what.format(n=talk.n) for what in done]
    assert statuses(mastra, PAUSES[name].workflow, talk.n) == ["canceled"]


def spoken(talk: Conversing) -> str:
    """What the last run said."""
    return "".join(e["delta"] for e in talk.events if e["type"] == "TEXT_MESSAGE_CONTENT")


async def test_the_end_of_a_workflow_that_was_cancelled_is_no_success_to_a_hook(
    mastra: MastraProcess,
) -> None:
    bridge, reasons = workflows_before(mastra), []
    bridge.on_run_end(lambda run, reason: reasons.append(reason.value))
    async with bridge.lifespan():
        talk = Conversing(bridge, PAUSES["nested three deep"])
        await talk.begin()
        await talk.answer(None)

    assert reasons == ["INTERRUPTED", "USER_INTERRUPTED"]


@pytest.mark.parametrize(("answer", "done"), [(YES, ["True"]), (NO, ["False"]), (None, [])])
async def test_an_evented_workflow_asks(
    mastra: MastraProcess, workflows: Bridge, answer: object, done: list[str]
) -> None:
    talk = Conversing(workflows, Pausing("eventedWorkflow", PAUSES["until"].input, (), ()))
    await talk.begin()
    assert talk.ending == "interrupt"
    await talk.answer(answer)

    assert talk.ending == "success"
    assert talk.done(mastra) == [f"evented-step {talk.n} {said}" for said in done]


async def test_an_evented_foreach_that_waits_is_no_success_and_nobody_can_continue_it(
    mastra: MastraProcess, workflows: Bridge
) -> None:
    pausing = Pausing("eventedEachWorkflow", PAUSES["foreach"].input, (), ())
    talk = Conversing(workflows, pausing)
    await talk.begin()

    assert talk.ending == "UPSTREAM_ERROR"
    assert "Items of a `foreach` wait for people" in talk.events[-1]["message"]
    assert talk.done(mastra) == []
    await eventually(lambda: statuses(mastra, pausing.workflow, talk.n) == ["canceled"])


@EVERY
async def test_four_clients_that_answer_at_once_execute_once(
    mastra: MastraProcess, tmp_path: Path, pausing: Pausing
) -> None:
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    first, second = workflows_before(mastra, store), workflows_before(mastra, store)
    async with first.lifespan(), second.lifespan():
        talk = Conversing(first, pausing, "t")
        await talk.begin()
        asks = talk.asks
        for answers in pausing.rounds:
            others = [Conversing(b, pausing, "t", talk.n) for b in (first, second, first, second)]
            await asyncio.gather(*(other.answer_all(asks, answers) for other in others))
            (ending,) = {other.ending for other in others}
            asks = others[0].asks

    assert ending == "success"
    assert talk.done(mastra) == talk.wanted


async def test_two_answers_that_contradict_each_other_are_never_both_executed(
    mastra: MastraProcess, workflows: Bridge
) -> None:
    talk = Conversing(workflows, PAUSES["nested three deep"])
    await talk.begin()
    others = [Conversing(workflows, talk.pausing, talk.thread, talk.n) for _ in (YES, NO)]
    ends = await asyncio.gather(
        *(other.answer_all(talk.asks, [a]) for other, a in zip(others, (YES, NO), strict=True))
    )

    assert sorted(ends)[1] == "success"
    assert len(talk.done(mastra)) == 2


async def test_an_answer_that_violates_the_schema_at_mastra_is_refused_and_consumes_nothing(
    mastra: MastraProcess, workflows: Bridge
) -> None:
    for name in ("foreach", "nested three deep", "foreach of nested", "until"):
        talk = Conversing(workflows, PAUSES[name])
        await talk.begin()
        asks = talk.asks
        for wrong in ({"ok": "banana"}, {}, None, {"ok": True, "more": 1}):
            ending = await talk.answer_all(asks, [wrong for _ in asks])
            assert ending == "INVALID_RESUME_PAYLOAD", (name, wrong)
        assert talk.done(mastra) == []
        for answers in talk.pausing.rounds:
            await talk.answer_all(asks, answers)
            asks = talk.asks

        assert talk.ending == "success", name
        assert talk.done(mastra) == talk.wanted


async def test_a_thread_that_was_stopped_while_it_asked_executes_nothing_later(
    mastra: MastraProcess, workflows: Bridge
) -> None:
    talk = Conversing(workflows, PAUSES["foreach"])
    await talk.begin()
    asks = talk.asks
    await workflows.stop(talk.pausing.workflow, talk.thread)
    await talk.answer_all(asks, [YES, YES])
    await talk.say('{"ids": []}')

    assert talk.done(mastra) == []
    assert statuses(mastra, talk.pausing.workflow, talk.n) == ["canceled"]


async def test_what_has_expired_is_executed_by_nobody(mastra: MastraProcess) -> None:
    bridge = workflows_before(mastra, expires_in=0.0)
    async with bridge.lifespan():
        for name in ("foreach", "nested three deep", "parallel"):
            talk = Conversing(bridge, PAUSES[name])
            await talk.begin()
            asks = talk.asks
            await talk.say('{"id": "other", "ids": []}')
            late = await talk.answer_all(asks, [YES for _ in asks])

            assert late == "INTERRUPT_EXPIRED"
            assert talk.done(mastra) == []
            assert statuses(mastra, talk.pausing.workflow, talk.n) == ["canceled"]


async def test_a_question_for_several_items_of_a_tool_says_so(mastra: MastraProcess) -> None:
    bridge = Bridge()
    bridge.add("agent", MastraAdapter(mastra.url, "flow-agent"))
    async with bridge.lifespan():
        pausing = Pausing("agent", f"flow eachTwoWorkflow {PAUSES['foreach'].input}", (), ())
        talk = Conversing(bridge, pausing)
        await talk.begin()
        (ask,) = talk.asks
        before = talk.done(mastra)
        await talk.answer(NO)
        (last,) = talk.asks

    n = talk.n
    assert ask["message"] == f"each-item {n}x?\nThe answer is for all 2 items that wait."
    assert ask["metadata"]["mastra"]["items"] == [{"id": f"{n}x"}, {"id": f"{n}y"}]
    assert last["message"] == f"each-item {n}z?"
    assert before == []
    assert talk.done(mastra) == [f"each-item {n}x False", f"each-item {n}y False"]


async def test_a_workflow_that_somebody_else_cancels_is_no_success(
    mastra: MastraProcess, workflows: Bridge
) -> None:
    talk = Conversing(workflows, Pausing("slowWorkflow", PAUSES["until"].input, (), ()))
    running = asyncio.create_task(talk.begin())
    await eventually(lambda: talk.done(mastra) == [f"slowStep began {talk.n} None"])
    path = f"{mastra.url}/api/workflows/slowWorkflow/runs"
    async with httpx.AsyncClient(trust_env=False) as client:
        listed = (await client.get(path)).json()["runs"]
        (run,) = [run for run in listed if str(talk.n) in str(run["snapshot"])]
        (await client.post(f"{path}/{run['runId']}/cancel", json={})).raise_for_status()
    mastra.release(talk.n)
    await running

    assert talk.ending == "UPSTREAM_ERROR"
    assert "cancelled at Mastra" in talk.events[-1]["message"]
    assert not [done for done in talk.done(mastra) if done.startswith("noteStep")]


@pytest.mark.parametrize("workflow", ["agentStepWorkflow", "nestedAgentStepWorkflow"])
async def test_an_agent_that_is_a_step_and_needs_an_approval_fails_the_run_at_once(
    mastra: MastraProcess, workflows: Bridge, workflow: str
) -> None:
    talk = Conversing(workflows, Pausing(workflow, '{{"prompt": "delete {n}"}}', (), ()))
    async with asyncio.timeout(60):  # Mastra keeps the stream open for ever.
        await talk.begin()

    assert talk.ending == "UPSTREAM_ERROR"
    assert "tool 'deleteRecord' waits for a person" in talk.events[-1]["message"]
    assert talk.results == ["The run failed; this tool call was not executed."]
    assert talk.done(mastra) == []
    await eventually(lambda: statuses(mastra, workflow, talk.n) == ["canceled"])


@pytest.mark.timeout(240)  # It starts either server twice, and each pause runs at them twice.
async def test_every_pause_survives_a_kill_of_mastra_and_of_the_bridge_and_executes_once(
    tmp_path: Path,
) -> None:
    mastra = MastraProcess(tmp_path)
    agents = {
        pausing.workflow: {
            "adapter": "mastra",
            "options": {"url": mastra.url, "agent": pausing.workflow, "kind": "workflow"},
        }
        for pausing in PAUSES.values()
    }
    config = tmp_path / "bridge.yaml"
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    config.write_text(yaml.safe_dump({"store": store, "agents": agents}))
    numbers = {name: fresh() for name in PAUSES}
    with mastra.running(), serving(tmp_path, str(config), "--port", "0") as bridge:
        for name, n in numbers.items():
            async with client_of(bridge, name, n) as client:
                ended = await client.complete(PAUSES[name].input.format(n=n))
                assert ended.outcome == "interrupt", (name, ended)
        early = [done for n in numbers.values() for done in done_with(mastra, n)]
    # Both were killed: they end no other way here.
    with mastra.running(), serving(tmp_path, str(config), "--port", "0") as bridge:
        for name, n in numbers.items():
            pausing = PAUSES[name]
            async with client_of(bridge, name, n) as client, client_of(bridge, name, n) as other:
                for answers in pausing.rounds:
                    for asked in (client, other):
                        # The second sends again what the first was told of already.
                        assert asked.pending_interrupts or await asked.load()
                    asks = [ask.id for ask in client.pending_interrupts]
                    resume = dict(zip(asks, map(Resolved, answers), strict=True))
                    ends = [await one.complete(resume=resume) for one in (client, other)]
                    assert ends[0].outcome == ends[1].outcome, (name, ends)

            assert ends[0].outcome == "success", (name, ends)
            wanted = [done.format(n=n) for done in pausing.done]
            assert done_with(mastra, n) == sorted(done for done in wanted if done not in early)


def client_of(bridge: Serving, name: str, n: int) -> Client:
    """A client of a pause's thread."""
    return Client(f"{bridge.url}/agents/{PAUSES[name].workflow}", thread_id=f"thread-{n}")
