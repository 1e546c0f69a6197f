"""Agents of a real Mastra server at every depth: one execution for one approval, else none."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.cli.processes import environment
from tests.e2e.mastra import AGENTS, APPROVE, CONFIRM, DECLINE, Talk, bridge_before, fresh, ran
from tests.support.commands import Command
from tests.support.mastra import MastraProcess
from tests.support.ports import free_port
from tests.support.streams import check_stream
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Row:
    """A pause somewhere below an agent.

    Attributes:
        agent: who is talked to.
        prompt: what makes it pause, as a format of the test's number.
        yes: the answer that has the tool carried out.
        path: the sub-agents that lead to it.
        tool: what the card shows.
    """

    agent: str
    prompt: str
    yes: Any
    path: tuple[str, ...]
    tool: str


ROWS = [
    Row("lead", "mark {n}", APPROVE, (), "markRecord"),
    Row("lead", "to supervisor agent delete {n}", APPROVE,
        ("supervisor", "approvalAgent"), "deleteRecord"),
    Row("lead", "to supervisor agent refund {n}", CONFIRM,
        ("supervisor", "suspendAgent"), "issueRefund"),
    Row("chief", "to lead mark {n}", APPROVE, ("lead",), "markRecord"),
    Row("chief", "to lead to supervisor agent delete {n}", APPROVE,
        ("lead", "supervisor", "approvalAgent"), "deleteRecord"),
    Row("chief", "to lead to supervisor workflow {n}", CONFIRM,
        ("lead", "supervisor"), "workflow-refundWorkflow"),
    Row("lead-network", "to supervisor agent delete {n}", APPROVE,
        ("supervisor", "approvalAgent"), "deleteRecord"),
    Row("lead-network", "to lead to supervisor agent delete {n}", APPROVE,
        ("lead", "supervisor", "approvalAgent"), "deleteRecord"),
    Row("lead-network", "to lead to supervisor agent refund {n}", CONFIRM,
        ("lead", "supervisor", "suspendAgent"), "issueRefund"),
    Row("telling-agent", "void {n}", APPROVE, (), "voidRecord"),
    Row("guard-supervisor", "to tellingAgent void {n}", APPROVE, ("tellingAgent",), "voidRecord"),
    Row("telling-agent", "fail {n}", APPROVE, (), "failRecord"),
    Row("guard-supervisor", "run failing {n}", CONFIRM, (), "workflow-failingWorkflow"),
]  # fmt: skip
FAMILIES = [ROWS[i] for i in (1, 2, 5, 6, 8, 9, 12)]
"""One of each kind: approvals and questions of agents, networks and workflows, a void tool."""
EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.agent}: {row.prompt}")


@EVERY
async def test_a_yes_at_any_depth_executes_once_below_the_agent_that_asked(
    mastra: MastraProcess, bridge: Bridge, row: Row
) -> None:
    n, talk = fresh(), Talk(bridge, row.agent)
    ask = await talk.asked(row.prompt.format(n=n))
    began = [e for e in talk.events if e["type"] == "SUBAGENT_STARTED"]
    calls = {e["toolCallName"]: e for e in talk.events if e["type"] == "TOOL_CALL_START"}
    assert ran(mastra, n) == []
    await talk.answer(row.yes)

    assert talk.ending == "success"
    assert len(ran(mastra, n)) == 1
    assert tuple(e["name"] for e in began) == row.path
    parents = [None, *(e["subagentRunId"] for e in began)]
    assert [e.get("parentSubagentRunId") for e in began] == parents[:-1]
    assert ask.get("subagentRunId") == parents[-1]
    shown = ask["metadata"]["mastra"] if row.yes is CONFIRM else ask
    assert shown["toolCallId"] == calls[row.tool]["toolCallId"]
    assert talk.results, "the call has a result"


@EVERY
async def test_a_no_at_any_depth_executes_nothing(
    mastra: MastraProcess, bridge: Bridge, row: Row
) -> None:
    numbers = [fresh(), fresh()]
    answers = [None, DECLINE] if row.yes is APPROVE else [None]
    for n, answer in zip(numbers, answers, strict=False):
        talk = Talk(bridge, row.agent)
        ask = await talk.asked(row.prompt.format(n=n))
        await talk.answer(answer)

        assert talk.ending == "success"
        assert await talk.resume(ask, row.yes) == "INTERRUPT_ALREADY_ANSWERED"
        assert ran(mastra, n) == []


@EVERY
async def test_four_clients_that_say_yes_at_once_execute_once(
    mastra: MastraProcess, tmp_path: Path, row: Row
) -> None:
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    first, second = bridge_before(mastra, store), bridge_before(mastra, store)
    async with first.lifespan(), second.lifespan():
        n, talk = fresh(), Talk(first, row.agent)
        ask = await talk.asked(row.prompt.format(n=n))
        others = [Talk(bridge, row.agent, talk.thread) for bridge in (first, second, first, second)]
        ends = await asyncio.gather(*(other.resume(ask, row.yes) for other in others))

    assert set(ends) == {"success"}
    assert len(ran(mastra, n)) == 1


@pytest.mark.parametrize(
    ("agent", "prompt", "rounds", "done"),
    [
        # One after the other, where Mastra reveals them so.
        ("lead", "to supervisor agent delete {a} and {b}", [[APPROVE], [DECLINE]], "a"),
        ("lead", "both to supervisor agent delete {a} | to approvalAgent delete {b}",
         [[None], [APPROVE]], "b"),
        ("lead-network", "to supervisor agent delete {a} and {b}", [[APPROVE], [APPROVE]], "ab"),
        # At once, the nearer first.
        ("chief", "both to lead mark {a} | to suspendAgent refund {b}",
         [[APPROVE, CONFIRM]], "ab"),
        ("chief", "both to lead to supervisor agent delete {a} | to suspendAgent refund {b}",
         [[CONFIRM, DECLINE]], "b"),
        ("chief", "both to lead to supervisor agent delete {a} | to suspendAgent refund {b}",
         [[None, APPROVE]], "a"),
    ],
)  # fmt: skip
async def test_of_two_that_wait_at_depth_each_is_done_as_it_was_answered(
    mastra: MastraProcess, bridge: Bridge, agent: str, prompt: str, rounds: Any, done: str
) -> None:
    numbers = {"a": fresh(), "b": fresh()}
    talk = Talk(bridge, agent)
    await talk.say(prompt.format(**numbers))
    for answers in rounds:
        assert talk.ending == "interrupt"
        approvals = [ask["reason"] == "tool_call" for ask in talk.asks]
        swapped = len(answers) > 1 and approvals[0] != ("approved" in (answers[0] or {}))
        await talk.answer(*(answers[::-1] if swapped and None not in answers else answers))

    assert talk.ending == "success"
    found = {name for name, number in numbers.items() if len(ran(mastra, number)) == 1}
    assert found == set(done)
    assert all(len(ran(mastra, number)) <= 1 for number in numbers.values())


@pytest.mark.parametrize(
    ("agent", "prompt"),
    [
        ("supervisor", "to approvalAgent boom"),
        ("lead", "to supervisor to approvalAgent boom"),
        ("lead-network", "to supervisor to approvalAgent boom"),
        ("lead-network", "to approvalAgent boom"),
    ],
)
async def test_a_sub_agent_that_fails_is_told_and_its_supervisor_goes_on(
    bridge: Bridge, agent: str, prompt: str
) -> None:
    talk = Talk(bridge, agent)
    said = await talk.say(prompt)

    (failed,) = [e for e in talk.events if e["type"] == "SUBAGENT_ERROR"]
    began = [e for e in talk.events if e["type"] == "SUBAGENT_STARTED"]
    assert failed["subagentRunId"] == began[-1]["subagentRunId"]
    assert talk.ending == "success"
    assert said
    assert "scripted" not in str([e for e in talk.events if "usage" not in e])


async def test_a_guard_refuses_with_its_reason_and_the_conversation_goes_on(bridge: Bridge) -> None:
    talk = Talk(bridge, "guarded-agent")
    for text, why in (
        ("forbidden word", "That word is not allowed here."),
        ("say forbidden", "The answer had a forbidden word."),
    ):
        await talk.say(text)
        assert talk.ending == "AGENT_REFUSED"
        assert talk.events[-1]["message"] == f"A guard of the agent would not go on: {why}"

    assert await talk.say("hello") == "Echo: hello"


async def test_data_objects_and_tasks_arrive(bridge: Bridge) -> None:
    telling = Talk(bridge, "telling-agent")
    await telling.say(f"data {fresh()}")
    objects = Talk(bridge, "object-agent")
    await objects.say("object")
    tasks = Talk(bridge, "task-agent")
    await tasks.say(f"task {fresh()}")

    told = [e["value"]["data"]["done"] for e in telling.events
            if e.get("name") == "mastra:data-progress"]  # fmt: skip
    assert told == [1, 2]
    assert objects.events[-1]["result"] == {"title": "Dune", "year": 1965}
    # How the task stands is looked at once more at the run's end.
    told = [e for e in tasks.events if e["type"] == "ACTIVITY_SNAPSHOT"]
    stands = [activity["content"]["status"] for activity in told]
    assert stands in (["started"], ["started", "running"], ["started", "completed"])
    assert len({activity["messageId"] for activity in told}) == 1
    assert tasks.results == ["The tool goes on in the background."]


async def test_working_memory_is_shared_state_both_ways(mastra: MastraProcess) -> None:
    bridge = Bridge()
    for name in ("profile-agent", "notes-agent"):
        bridge.add(name, MastraAdapter(mastra.url, name, working_memory="share"))
    async with bridge.lifespan():
        profile = Talk(bridge, "profile-agent")
        await profile.send(
            messages=[{"id": "u", "role": "user", "content": "hello"}], state={"city": "Rome"}
        )
        assert kept(mastra, profile) == '{"city": "Rome"}'
        await profile.say('remember {"name":"Ann"}')
        assert profile.events[-2]["type"] == "STATE_SNAPSHOT"
        assert profile.events[-2]["snapshot"] == {"city": "Rome", "name": "Ann"}
        # What the client sends back unchanged is no change, and without state nothing is lost.
        await profile.say("hello again", state={"city": "Rome", "name": "Ann"})
        await profile.say("and again", state={})
        assert json.loads(kept(mastra, profile)) == {"city": "Rome", "name": "Ann"}
        notes = Talk(bridge, "notes-agent")
        await notes.say("remember # Notes\n- Name: Bo")
        told = notes.events[-2]["snapshot"]
        await notes.say("hello", state={"workingMemory": "# Notes\n- Name: Cy"})

    assert told == {"workingMemory": "# Notes\n- Name: Bo"}
    assert kept(mastra, notes) == "# Notes\n- Name: Cy"


def kept(mastra: MastraProcess, talk: Talk) -> str:
    """The working memory of a conversation's thread, as Mastra has it."""
    path = f"{mastra.url}/api/memory/threads/{talk.thread}/working-memory"
    params = {"agentId": talk.agent, "resourceId": "default"}
    return str(httpx.get(path, params=params, trust_env=False).json()["workingMemory"])


class BridgeProcess:
    """`agui-bridge serve` before a Mastra server, which can be killed."""

    def __init__(self, folder: Path, mastra: MastraProcess) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self._folder = folder
        path = "/x/agents/{agent}/resume-network"
        agents = {
            name: {
                "adapter": "mastra",
                "options": {"url": mastra.url, "agent": name, "kind": kind}
                | ({"resume_network_path": path} if kind == "network" else {}),
            }
            for name, kind in AGENTS.items()
        }
        store = f"sqlite:///{folder / 'bridge.db'}"
        told = {"store": store, "server": {"port": int(self.url[-5:])}, "agents": agents}
        # JSON is YAML.
        (folder / "bridge.yaml").write_text(json.dumps(told))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Serve until the end, which is SIGKILL."""
        process = Command(
            "agui_bridge", "serve", "bridge.yaml", cwd=self._folder, env=environment()
        )
        try:
            wait_until(self._is_there)
            yield
        finally:
            process.close()

    def post(self, agent: str, thread: str, **members: Any) -> list[dict[str, Any]]:
        """Send an input; gives what came."""
        body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": []}
        answer = httpx.post(
            f"{self.url}/agents/{agent}", json={**body, **members}, timeout=60, trust_env=False
        )
        lines = answer.text.splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        check_stream(events)
        return events

    def _is_there(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/healthz", trust_env=False).is_success
        return False


@pytest.mark.timeout(180)  # It starts the server twice, and each pause runs at it twice.
def test_each_kind_of_pause_at_depth_survives_kill_9_of_both_and_executes_once(
    tmp_path: Path,
) -> None:
    mastra = MastraProcess(tmp_path)
    bridge = BridgeProcess(tmp_path, mastra)
    asked: list[tuple[Row, int, Any]] = []
    with mastra.running(), bridge.running():
        for row in FAMILIES:
            n = fresh()
            message = {"id": "u", "role": "user", "content": row.prompt.format(n=n)}
            events = bridge.post(row.agent, f"thread-{n}", messages=[message])
            (ask,) = events[-1]["outcome"]["interrupts"]
            asked.append((row, n, ask))
        assert mastra.executions() == []
    # Leaving them was SIGKILL, of both.
    with mastra.running(), bridge.running():
        for row, n, ask in asked:
            entry = {"interruptId": ask["id"], "status": "resolved", "payload": row.yes}
            for _ in range(2):
                events = bridge.post(row.agent, f"thread-{n}", resume=[entry])
                assert events[-1]["outcome"] == {"type": "success"}, (row, events[-1])
            assert len(ran(mastra, n)) == 1, row
