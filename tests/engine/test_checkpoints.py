"""Runs with checkpoints: what goes on where, and how often, when processes die."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge import Ask, FunctionRun, NeedsInput, answered
from agui_bridge.engine.engine import mint
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import Conflict
from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.checkpoint import MOST_ATTEMPTS
from agui_bridge.protocol.threads.records import StopRequest, ThreadStatus
from tests.support.agents import Bench, Reader, outcome, settle
from tests.support.dying import LATER, STEPS, MortalBench, World, dies, ten_steps


@pytest.fixture
async def worlds() -> AsyncIterator[Callable[..., World]]:
    made: list[World] = []

    def make(function: Callable[[World, FunctionRun], Any]) -> World:
        made.append(World(function))
        return made[-1]

    yield make
    for world in made:
        await world.aclose()


LIVE = 2 * STEPS + 2
"""Commits of such a run: its claim, each act and its result, its end."""


async def test_a_step_is_stored_before_it_begins_and_after_it_has_ended(worlds: Any) -> None:
    world = worlds(ten_steps)
    bench = world.process()

    events = await bench.say("go")

    assert outcome(events) == "success"
    assert bench.mortal.commits == LIVE
    loaded = await bench.load()
    assert loaded.record is not None and loaded.record.checkpoint is None


@pytest.mark.parametrize("written", [False, True], ids=["lost", "written"])
@pytest.mark.parametrize("dies_at", range(1, LIVE + 1))
async def test_a_run_goes_on_wherever_its_process_dies(
    worlds: Any, dies_at: int, written: bool
) -> None:
    world = worlds(ten_steps)
    first, second = world.process(dies_at=dies_at, written=written), world.process()
    await dies(first.begin("go"), first)
    await world.over()

    await world.sweep(second)

    loaded = await second.load()
    assert set(world.effects.values()) <= {1}
    if loaded.record is None:
        assert (dies_at, written) == (1, False)
        return
    assert loaded.status is ThreadStatus.IDLE
    ended = loaded.record.ended
    begun, results = divmod(dies_at - 1 + written, 2)
    # It died after an act was stored as begun, and before its result was.
    amid = results == 0 and 0 < begun <= STEPS
    assert ended is not None
    assert ended.outcome == ("lost" if amid else "finished")
    if not amid:
        assert sum(world.effects.values()) == STEPS
        said = "".join(c for role, c in await second.texts() if role == "assistant")
        assert said == "".join(f"{n} " for n in range(STEPS)) + "done"


async def test_one_act_that_is_idempotent_begins_again_with_its_key(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        yield str(await run.step("charge", world.act, "charge", idempotent=True))
        yield str(await run.call("pay", {"what": "pay"}, world.act, idempotent=True))

    for dying in ("charge", "pay"):
        world = worlds(function)
        first, second = world.process(), world.process()

        async def die(what: Any, dying: str = dying, first: MortalBench = first) -> None:
            if what == dying and not first.mortal.dead:
                await first.mortal.die()

        world.at_act = die
        await dies(first.begin("go"), first)
        assert world.effects[dying] == 1
        await world.over()
        await world.sweep(second)

        loaded = await second.load()
        assert loaded.record is not None and loaded.record.ended is not None
        assert loaded.record.ended.outcome == "finished"
        assert world.effects == {"charge": 1 + (dying == "charge"), "pay": 1 + (dying == "pay")}
        assert [len(keys) for keys in world.keys.values()] == [1, 1]
        assert not world.keys["charge"] & world.keys["pay"]
        calls = [m.message for m in loaded.messages if m.message.get("toolCalls")]
        results = [m.message for m in loaded.messages if m.message["role"] == "tool"]
        assert (len(calls), [r["content"] for r in results]) == (1, ["did pay"])


async def test_an_act_that_is_not_idempotent_is_not_begun_again(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        yield str(await run.call("pay", {"what": "pay"}, world.act))

    world = worlds(function)
    first, second = world.process(), world.process()
    world.at_act = lambda what: first.mortal.die()
    await dies(first.begin("go"), first)
    await world.over()
    await world.sweep(second)

    loaded = await second.load()
    assert world.effects == {"pay": 1}
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "lost"
    (result,) = [m.message for m in loaded.messages if m.message["role"] == "tool"]
    assert "unknown" in result["content"]


async def asks_once(world: World, run: FunctionRun) -> AsyncIterator[str]:
    await run.step("look", world.act, "look")
    approval = await run.approve("pay", {"what": "pay"})
    if approval:
        yield await run.tool(approval, world.act)
    await run.step("note", world.act, "note")
    yield " Done."


@pytest.mark.parametrize("written", [False, True], ids=["lost", "written"])
@pytest.mark.parametrize("dies_at", range(1, 8))
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "declined"])
async def test_a_claimed_answer_is_carried_out_once_wherever_the_process_dies(
    worlds: Any, dies_at: int, written: bool, approved: bool
) -> None:
    world = worlds(asks_once)
    asking, second = world.process(), world.process()
    interrupts = await asking.ask()
    first = world.process(dies_at=dies_at, written=written)
    answer = Bench.entries(interrupts, {"approved": approved})
    await dies(first.begin(resume=answer), first)
    await world.over()
    await world.sweep(second)

    told = await second.say(resume=answer)

    loaded = await second.load(interrupts[0]["id"])
    (ask,) = loaded.interrupts.values()
    assert set(world.effects.values()) <= {1}
    assert loaded.status is ThreadStatus.IDLE
    if outcome(told) == "RUN_INDETERMINATE":
        # It died amid an act.
        assert world.effects["note"] == 0 or first.mortal.commits in (4, 5)
    else:
        assert outcome(told) == "success"
        assert world.effects == {"look": 1, "note": 1} | ({"pay": 1} if approved else {})
        assert ask.status == "resolved"
    results = [m.message for m in loaded.messages if m.message["role"] == "tool"]
    assert len(results) == 1
    if world.effects["pay"] == 0:
        assert "did pay" not in results[0]["content"]


async def test_a_run_that_kills_its_processes_fails_and_says_so(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        await run.step("harmless", world.act, "harmless")
        yield str(await run.step("poison", world.act, "poison", idempotent=True))

    world = worlds(function)
    processes = [world.process() for _ in range(8)]

    async def poison(what: Any) -> None:
        if what == "poison":
            await current.mortal.die()

    world.at_act = poison
    current: Any = processes[0]
    await dies(current.begin("go", runId="r1"), current)
    pauses = []
    for current in processes[1:]:
        await settle()
        loaded = await current.load()
        if loaded.record.checkpoint is None:
            break
        world.clock.advance(31.0)
        waited = 31.0
        while not await sweep(current.store, mint, current.engine.looks.take):
            world.clock.advance(1.0)
            waited += 1.0
        pauses.append(waited)
        await settle()

    loaded = await processes[-1].load()
    assert world.effects == {"harmless": 1, "poison": 1 + MOST_ATTEMPTS}
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "failed"
    # The lease is over after 30 seconds; between two attempts there are 2, then 4 more.
    assert pauses == [31.0, 32.0, 34.0, 31.0]
    assert outcome(await processes[-1].say("go", runId="r1")) == "RUN_GIVEN_UP"


async def test_a_message_finds_a_lost_run_taken_up_and_waits_its_turn(worlds: Any) -> None:
    world = worlds(ten_steps)
    first, second = world.process(dies_at=4), world.process()
    await dies(first.begin("go"), first)
    await world.over()

    told = await second.say("and I?")

    assert outcome(told) == "RUN_IN_PROGRESS"
    async with asyncio.timeout(20):
        await asyncio.gather(*list(second.engine._tasks))
    loaded = await second.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "finished"
    assert sum(world.effects.values()) == STEPS


async def test_whoever_gives_a_run_up_that_its_agent_can_not_go_on_from_may_be_slower(
    worlds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = worlds(ten_steps)
    first, second = world.process(dies_at=4), world.process()
    await dies(first.begin("go"), first)
    await world.over()
    can = replace(second.adapter.capabilities, checkpoints=False)
    monkeypatch.setattr(second.adapter, "capabilities", can)
    commit, conflicts = world.store.commit, [Conflict("somebody was faster")]

    async def slower(*given: Any) -> Any:
        if conflicts:
            raise conflicts.pop()
        return await commit(*given)

    monkeypatch.setattr(world.store, "commit", slower)

    assert outcome(await second.say("and I?")) == "success"
    assert sum(world.effects.values()) == 1 + STEPS


async def test_of_two_processes_that_find_it_one_takes_it_up(worlds: Any) -> None:
    world = worlds(ten_steps)
    first = world.process(dies_at=5, written=True)
    others = [world.process() for _ in range(4)]
    await dies(first.begin("go"), first)
    await world.over()

    await asyncio.gather(*(world.sweep(each) for each in others))

    loaded = await others[0].load()
    assert set(world.effects.values()) == {1} and len(world.effects) == STEPS
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "finished"


async def test_a_stop_ends_a_run_that_waits_to_be_taken_up(worlds: Any) -> None:
    world = worlds(ten_steps)
    first, second, third = world.process(dies_at=5, written=True), world.process(), world.process()
    await dies(first.begin("go"), first)
    await world.over()
    # The one that takes it up dies at once, so that it waits for the next attempt.
    second.mortal.dies_at, second.mortal.written = 1, True
    sweeping = asyncio.create_task(sweep(second.store, mint, second.engine.looks.take))
    await settle()
    sweeping.cancel()
    world.clock.advance(31.0)
    loaded = await third.load()
    assert loaded.way_on == "later"
    assert outcome(await third.say("more")) == "RUN_IN_PROGRESS"

    stopped = await third.engine.stop(third.KEY)

    assert stopped.status == "success"
    loaded = await third.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert (loaded.record.ended.outcome, loaded.record.checkpoint) == ("stopped", None)
    assert sum(world.effects.values()) == 2


async def test_a_stop_that_finds_an_act_open_leaves_it_unknown(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        yield str(await run.call("pay", {"what": "pay"}, world.act, idempotent=True))

    world = worlds(function)
    first, second = world.process(), world.process()
    world.at_act = lambda what: first.mortal.die()
    await dies(first.begin("go"), first)
    await world.over()

    stopped = await second.engine.stop(second.KEY)

    assert stopped.status == "error"
    loaded = await second.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "lost"
    assert world.effects == {"pay": 1}


async def test_a_run_slept_and_its_process_died_as_it_woke(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        await run.step("before", world.act, "before")
        yield await run.sleep(300)
        await run.step("after", world.act, "after")

    for dies_at, written in ((1, True), (2, False), (3, True)):
        world = worlds(function)
        asleep, third = world.process(), world.process()
        await asleep.say("go")
        world.clock.advance(300)
        waking = world.process(dies_at=dies_at, written=written)
        task = asyncio.create_task(world.sweep(waking))
        await settle()
        task.cancel()
        await world.over()
        await world.sweep(third)

        loaded = await third.load()
        assert loaded.record is not None and loaded.record.ended is not None
        assert loaded.record.ended.outcome == "finished"
        assert world.effects == {"before": 1, "after": 1}
        assert [c for r, c in await third.texts() if r == "assistant"] == ["time"]


async def test_a_branch_that_sleeps_wakes_at_the_time_that_it_had(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        async def steps() -> None:
            for number in range(3):
                await run.step("act", world.act, number)

        slept, _ = await asyncio.gather(run.sleep(1000), steps())
        yield slept

    world = worlds(function)
    first, second = world.process(dies_at=5, written=True), world.process()
    begun = world.clock.time()
    await dies(first.begin("go"), first)
    await world.over()
    await world.sweep(second)

    (ask,) = (await second.load()).asks
    assert ask.expires_at == begun + 1000
    world.clock.advance(1000 - LATER)
    await world.sweep(second)
    assert world.effects == {0: 1, 1: 1, 2: 1}
    assert (await second.load()).status is ThreadStatus.IDLE


async def test_code_that_takes_another_path_does_nothing_new(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        first = len(world.made) < 2
        await run.step("act" if first else "other", world.act, "a")
        yield str(await run.step("next", world.act, "b"))

    world = worlds(function)
    first = world.process(dies_at=4)
    await dies(first.begin("go"), first)
    second = world.process()
    await world.over()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agui_bridge.agents.function.checkpoints.REPLAY_PATIENCE", 0.1)
        await world.sweep(second)

    loaded = await second.load()
    assert world.effects == {"a": 1}
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "failed"


async def test_the_state_and_the_usage_go_on_where_they_were(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        for number in range(3):
            run.state["number"] = run.state.get("number", 0) + 1
            await run.step("act", world.act, number)
            run.usage.append({"inputTokens": number})
        yield f"{run.state['number']}"

    world = worlds(function)
    first, second = world.process(dies_at=6), world.process()
    await dies(first.begin("go", state={"number": 10}), first)
    await world.over()
    ended: list[Any] = []
    second.engine._on_run_end = [lambda run, reason: ended.append(list(run.usage))]
    await world.sweep(second)

    loaded = await second.load()
    assert loaded.record is not None and loaded.record.state == {"number": 13}
    assert [c for r, c in await second.texts() if r == "assistant"] == ["13"]
    assert [[one["inputTokens"] for one in usage] for usage in ended] == [[0, 1, 2]]


async def test_who_comes_back_has_a_lost_run_go_on_and_follows_it(worlds: Any) -> None:
    world = worlds(ten_steps)
    first, second = world.process(dies_at=5, written=True), world.process()
    await dies(first.begin("go"), first)
    await world.over()

    reader = Reader(*show_thread(second.engine, second.call()))
    events = await reader.rest()

    assert outcome(events) == "success"
    assert sum(world.effects.values()) == STEPS
    (snapshot, *_) = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"]
    shown = "".join(m["content"] for m in snapshot["messages"] if m["role"] == "assistant")
    assert (shown + reader.text).endswith("done")


async def test_a_stop_that_names_the_lease_of_before_reaches_the_run(worlds: Any) -> None:
    world = worlds(ten_steps)
    first, second = world.process(dies_at=4), world.process()
    await dies(first.begin("go"), first)
    lost = (await second.load()).run
    await world.over()

    async def ask(what: Any) -> None:
        if what == 3:
            # It saw the run before it was taken up, and is slow.
            asked = StopRequest(lost.token, False, world.clock.time() + 30.0)
            await world.store.request_stop(second.KEY, asked)

    world.at_act = ask
    await world.sweep(second)

    loaded = await second.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "stopped"
    assert world.effects == dict.fromkeys(range(4), 1)


async def test_a_tool_that_asks_in_its_middle_goes_on_with_its_answer(worlds: Any) -> None:
    async def function(world: World, run: FunctionRun) -> AsyncIterator[str]:
        async def transfer(euros: int) -> Any:
            given = answered()
            if given is None:
                await world.act("begun")
                return NeedsInput([Ask("code", message="The code?")], state={"payment": 7})
            assert given.state == {"payment": 7}
            await world.act("transferred")
            return "transferred"

        yield str(await run.call("transfer", {"euros": 5}, transfer, idempotent=True))

    for dies_at in range(1, 5):
        world = worlds(function)
        asking, second = world.process(), world.process()
        interrupts = await asking.ask()
        first = world.process(dies_at=dies_at, written=True)
        await dies(first.begin(resume=Bench.entries(interrupts, {"code": "1"})), first)
        await world.over()
        await world.sweep(second)

        loaded = await second.load()
        assert loaded.record is not None and loaded.record.ended is not None
        assert loaded.record.ended.outcome == "finished"
        assert world.effects == {"begun": 1, "transferred": 1}
        assert len(world.keys["transferred"]) == 1
        results = [m.message["content"] for m in loaded.messages if m.message["role"] == "tool"]
        assert results == ["transferred"]
