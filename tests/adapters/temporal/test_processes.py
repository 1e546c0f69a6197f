"""Worker, Temporal and bridges as processes: killed between question and answer, and racing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    StartWorkflowUpdateInput,
    WorkflowUpdateHandle,
)
from temporalio.service import RPCError

from agui_bridge import Bridge, Settings
from tests.adapters.temporal.bench import Bench, bench
from tests.adapters.temporal.talk import Talk
from tests.support.postgres import new_schema, server, with_schema
from tests.support.target import Answered, Target, approve
from tests.support.waiting import eventually, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

Targets = Callable[..., Target]


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as served:
        (tmp_path / "address").write_text(served.server.address)
        yield served


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[Targets]:
    started: list[Target] = []
    with new_schema() as schema:
        dsn = with_schema(server().dsn, schema)

        def start() -> Target:
            module = "tests.adapters.temporal.bridging"
            started.append(Target(tmp_path, store=dsn, lease=3.0, module=module))
            return started[-1]

        yield start
        for target in started:
            target.close()


def raced(
    bridges: Sequence[Target], thread: str, entries: Sequence[dict[str, Any]]
) -> list[Answered]:
    """Answers at several bridges at once, one each."""
    told: list[Answered] = []

    def send(bridge: Target, entry: dict[str, Any]) -> None:
        told.append(bridge.send(thread, resume=[entry]))

    racing = [
        threading.Thread(target=send, args=each) for each in zip(bridges, entries, strict=True)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    return told


def test_a_question_outlives_worker_temporal_and_bridge_and_of_five_answers_one_is_carried_out(
    begun: Bench, targets: Targets
) -> None:
    first = targets()
    (interrupt,) = first.send("t", "deploy").interrupts
    first.kill()
    begun.kill_worker()
    begun.server.kill()
    second, third = targets(), targets()
    away = second.send("t", resume=[approve(interrupt)])
    assert away.code == "UPSTREAM_ERROR", "Temporal is away: the question stands"
    begun.server.start()
    alone = second.send("t", resume=[approve(interrupt)])
    assert alone.code == "UPSTREAM_ERROR", "no worker is there: the question stands"
    assert [each["id"] for each in second.thread("t")["interrupts"]] == [interrupt["id"]]
    assert begun.effects == []
    begun.start_worker()
    told = raced([second, third, second, third, second], "t", [approve(interrupt)] * 5)
    assert [each.outcome for each in told] == ["success"] * 5
    assert begun.effects == [{"version": "v2"}]


def test_of_answers_that_differ_at_once_one_is_carried_out(begun: Bench, targets: Targets) -> None:
    both = [targets(), targets()]
    for number in range(8):
        (interrupt,) = both[0].send(f"t{number}", f"deploy v{number}").interrupts
        no = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": False}}
        edited = approve(interrupt, editedArgs={"version": f"e{number}"})
        raced(
            [both[0], both[1], both[0], both[1], both[0]],
            f"t{number}",
            [approve(interrupt), edited, no, edited, approve(interrupt)],
        )
    done = [effect["version"][1:] for effect in begun.effects]
    assert len(done) == len(set(done)), begun.effects


def test_a_worker_that_dies_before_the_answer_is_followed_by_another(
    begun: Bench, targets: Targets
) -> None:
    bridge = targets()
    (interrupt,) = bridge.send("t", "deploy").interrupts
    begun.kill_worker()
    begun.start_worker()
    assert bridge.send("t", resume=[approve(interrupt)]).outcome == "success"
    assert begun.effects == [{"version": "v2"}]


def test_what_a_bridge_that_died_with_an_answer_left_open_is_asked_again(
    begun: Bench, targets: Targets
) -> None:
    dies, lives = targets(), targets()
    (interrupt,) = dies.send("t", "deploy").interrupts
    # It waits for a worker to say whether the question is open.
    begun.kill_worker()
    answering = threading.Thread(
        target=dies.send, args=("t",), kwargs={"resume": [approve(interrupt)]}
    )
    answering.start()
    wait_until(lambda: lives.thread("t")["status"] == "running")
    dies.kill()
    answering.join()
    begun.start_worker()
    wait_until(lambda: lives.thread("t")["interrupts"], 60)
    (again,) = lives.thread("t")["interrupts"]
    assert again["id"] != interrupt["id"]
    assert [one["status"] for one in lives.audit("t")] == ["indeterminate", "open"]
    assert begun.effects == []
    assert lives.send("t", resume=[approve(again)]).outcome == "success"
    assert begun.effects == [{"version": "v2"}]


class Dying(Interceptor):
    """Ends the worker right before an update is sent, once it was asked what it waits for."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.kills = True
        self.updates: list[str | None] = []

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        dying = self

        class Outbound(OutboundInterceptor):
            async def start_workflow_update(
                self, input: StartWorkflowUpdateInput
            ) -> WorkflowUpdateHandle[Any]:
                if dying.kills:
                    dying._bench.kill_worker()
                dying.updates.append(input.update_id)
                return await super().start_workflow_update(input)

        return Outbound(next)


async def test_an_answer_whose_fate_is_unknown_is_looked_up_once_a_worker_is_there(
    begun: Bench,
) -> None:
    dying = Dying(begun)
    client = await Client.connect(begun.server.address, interceptors=[dying])
    bridge = Bridge("memory:", settings=Settings(sweep_interval=0.1), telemetry=False)
    bridge.add("agent", begun.adapter(client=client, timeout=2.0, patience=1.0))
    talk = Talk(bridge, begun, "t")
    try:
        await talk.say("deploy")
        await eventually(talk.asked)
        await talk.decide({"approved": True})
        assert talk.events[-1]["code"] == "RUN_INDETERMINATE"
        (update,) = set(dying.updates)
        assert str(update).startswith("answer q1 "), "the same update each time"
        assert begun.effects == []
        dying.kills = False
        begun.start_worker()
        # Temporal gives the worker what it has admitted, or else the question is asked again.
        await eventually(lambda: _went_on(talk), 30)
        if await talk.asked():
            await talk.decide({"approved": True})
        await eventually(lambda: begun.effects)
        await eventually(lambda: _is_told(talk, "Done."))
        assert begun.effects == [{"version": "v2"}]
    finally:
        await bridge.aclose()


class Counting(Interceptor):
    """Counts the queries that no worker has answered."""

    def __init__(self) -> None:
        self.in_vain = 0

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        counting = self

        class Outbound(OutboundInterceptor):
            async def query_workflow(self, input: QueryWorkflowInput) -> Any:
                try:
                    return await super().query_workflow(input)
                except RPCError:
                    counting.in_vain += 1
                    raise

        return Outbound(next)


async def test_what_was_told_last_is_told_though_no_worker_was_there_when_it_had_ended(
    begun: Bench, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    counting = Counting()
    client = await Client.connect(begun.server.address, interceptors=[counting])
    bridge = Bridge(store, settings=Settings(sweep_interval=60.0), telemetry=False)
    bridge.add("agent", begun.adapter(patience=0.3))
    talk = Talk(bridge, begun, "t")
    await talk.say("soon")
    await talk.answer({"approved": True})
    await bridge.aclose()
    await (await talk.workflow()).result()
    begun.kill_worker()
    bridge = Bridge(store, settings=Settings(sweep_interval=0.1), telemetry=False)
    bridge.add("agent", begun.adapter(client=client, timeout=1.0))
    talk = Talk(bridge, begun, "t")
    try:
        await bridge.open()
        await eventually(lambda: counting.in_vain > 1)
        assert "half failed" not in await talk.shown()
        begun.start_worker()
        await eventually(lambda: _is_told(talk, "It half failed."))
        assert begun.effects == [{"version": "v2"}]
    finally:
        await bridge.aclose()


async def _went_on(talk: Talk) -> bool:
    return bool(await talk.asked()) or await talk.status() == "COMPLETED"


async def _is_told(talk: Talk, text: str) -> bool:
    return text in await talk.shown()
