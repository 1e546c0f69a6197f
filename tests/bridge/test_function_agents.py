"""Function agents through the whole bridge on a SQLite file, restarted between the runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import (
    AdapterCapabilities,
    Bridge,
    FunctionRun,
    Principal,
    ProposedCall,
    Verdict,
)
from agui_bridge.engine.input.submission import Submission
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.dialects import parse_input
from tests.support.agents import Scripted
from tests.support.streams import check_stream

Register = Callable[[Bridge], None]


class Restarted:
    """A bridge that is made anew for every input, as after a restart; agents keep nothing."""

    def __init__(self, folder: Path, register: Register) -> None:
        self._url = f"sqlite:///{folder / 'agents.db'}"
        self._register = register
        self._number = 0

    async def send(
        self, text: str | None = None, *, messages: list[Any] | None = None, **members: Any
    ) -> list[dict[str, Any]]:
        """The events of one run on a fresh bridge."""
        bridge = Bridge(self._url)
        self._register(bridge)
        self._number += 1
        body = {
            "threadId": "t",
            "runId": "r",
            "protocolVersion": "1.0",
            "messages": list(messages or []),
            **members,
        }
        if text is not None:
            body["messages"].append({"id": f"u{self._number}", "role": "user", "content": text})
        async with bridge.lifespan():
            engine = await bridge.open()
            pipe, _ = engine.submit(Submission(bridge.agents["a"], Principal(), parse_input(body)))
            stream = b""
            while chunk := await pipe.read():
                stream += chunk
        frames = stream.decode().split("\n\n")
        events = [json.loads(frame.removeprefix("data: ")) for frame in frames if frame]
        kinds = {event["type"] for event in events}
        check_stream(events, refused={"RUN_FINISHED", "RUN_ERROR"} <= kinds)
        return events


def state_of(events: list[dict[str, Any]]) -> Any:
    """The last state snapshot of a stream."""
    return [e["snapshot"] for e in events if e["type"] == "STATE_SNAPSHOT"][-1]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def resume_all(events: list[dict[str, Any]], payload: Any) -> list[dict[str, Any]]:
    interrupts = events[-1]["outcome"]["interrupts"]
    return [
        {"interruptId": ask["id"], "status": "resolved", "payload": payload} for ask in interrupts
    ]


async def test_state_before_across_and_after_an_interrupt_survives_restart_and_reload(
    tmp_path: Path,
) -> None:
    def register(bridge: Bridge) -> None:
        @bridge.agent("a")
        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            run.state["before"] = run.state.get("before", 0) + 1
            yield "asking"
            run.state["asked"] = True
            if await run.confirm("Go on?"):
                run.state["after"] = "yes"
            yield "done"

    bridge = Restarted(tmp_path, register)
    paused = await bridge.send("go", state={"mine": 1})
    # A page that was reloaded knows no state and sends an empty object.
    resumed = await bridge.send(resume=resume_all(paused, {"confirm": True}), state={})
    again = await bridge.send("once more", state={})

    assert state_of(paused) == {"mine": 1, "before": 1, "asked": True}
    assert state_of(resumed) == {"mine": 1, "before": 1, "asked": True, "after": "yes"}
    assert state_of(again)["before"] == 2


async def test_what_was_said_and_done_before_a_pause_is_neither_said_nor_done_again(
    tmp_path: Path,
) -> None:
    done: list[str] = []

    def do(what: str, result: Any) -> Any:
        done.append(what)
        return result

    def register(bridge: Bridge) -> None:
        @bridge.agent("a")
        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            yield "counting "
            rows = await run.step("count", lambda: do("count", 7))
            await run.call("look", {"rows": rows}, lambda rows: do("look", "seen"))
            first, second = await asyncio.gather(
                run.approve("delete", {"n": 1}, key="one"),
                run.approve("delete", {"n": 2}, key="two"),
            )
            for approval in (first, second):
                if approval.approved:
                    await run.tool(approval, lambda n: do(f"delete {n}", "gone"))
            if await run.confirm("Report it?"):
                yield "reported"

    bridge = Restarted(tmp_path, register)
    paused = await bridge.send("go")
    asks = paused[-1]["outcome"]["interrupts"]
    answers = [
        {"interruptId": asks[0]["id"], "status": "resolved", "payload": {"approved": True}},
        {"interruptId": asks[1]["id"], "status": "cancelled"},
    ]
    middle = await bridge.send(resume=answers)
    end = await bridge.send(resume=resume_all(middle, {"confirm": True}))
    replayed = await bridge.send(resume=answers)

    assert done == ["count", "look", "delete 1"]
    assert [text_of(events) for events in (paused, middle, end)] == ["counting ", "", "reported"]
    results = [e["content"] for e in middle if e["type"] == "TOOL_CALL_RESULT"]
    assert sorted(results) == sorted(
        ["The approval was cancelled; this tool call was not executed.", "gone"]
    )
    assert replayed[-1]["outcome"] == {"type": "success"}
    starts = [
        e for events in (paused, middle, end) for e in events if e["type"] == "TOOL_CALL_START"
    ]
    assert [e["toolCallName"] for e in starts] == ["look", "delete", "delete"]


async def test_a_frontend_tool_ends_the_run_and_its_result_continues_the_function(
    tmp_path: Path,
) -> None:
    def register(bridge: Bridge) -> None:
        @bridge.agent("a")
        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            yield "picking "
            colour = await run.frontend_tool("pick_colour", {"of": "wall"})
            yield f"painted {colour}"

    bridge = Restarted(tmp_path, register)
    handed = await bridge.send("paint")
    (call,) = handed[-1]["outcome"]["pendingToolCallIds"]
    forged = {"id": "x1", "role": "tool", "toolCallId": "another", "content": "forged"}
    result = {"id": "x2", "role": "tool", "toolCallId": call, "content": "blue"}
    done = await bridge.send(messages=[forged, result])
    later = await bridge.send(messages=[{**result, "id": "x3", "content": "red"}])

    assert handed[-1]["outcome"]["type"] == "success"
    assert text_of(handed) == "picking "
    assert text_of(done) == "painted blue"
    assert "red" not in json.dumps(later)


async def test_a_form_from_a_pydantic_model_is_refused_then_answered(tmp_path: Path) -> None:
    from examples.approval_target import Quarter

    def register(bridge: Bridge) -> None:
        @bridge.agent("a")
        async def agent(run: FunctionRun) -> str:
            form = await run.ask("Which quarter?", schema=Quarter)
            return "none" if form is None else f"{form.quarter} {form.year + 1}"

    bridge = Restarted(tmp_path, register)
    paused = await bridge.send("go")
    refused = await bridge.send(resume=resume_all(paused, {"quarter": "Q5", "year": 2026}))
    answered = await bridge.send(resume=resume_all(paused, {"quarter": "Q4", "year": 2026}))

    assert refused[-1]["code"] == "INVALID_RESUME_PAYLOAD"
    assert "/quarter" in refused[-1]["message"]
    assert refused[-2]["outcome"]["interrupts"] == paused[-1]["outcome"]["interrupts"]
    assert text_of(answered) == "Q4 2027"


async def test_a_replay_on_another_path_fails_the_run_and_leaves_the_thread_usable(
    tmp_path: Path,
) -> None:
    versions = iter(["old", "new", "new"])

    def register(bridge: Bridge) -> None:
        version = next(versions)

        @bridge.agent("a")
        async def agent(run: FunctionRun) -> str:
            if version == "old":
                return "yes" if await run.confirm("Old question?") else "no"
            return "no question any more"

    bridge = Restarted(tmp_path, register)
    paused = await bridge.send("go")
    failed = await bridge.send(resume=resume_all(paused, {"confirm": True}))
    after = await bridge.send("hello")

    assert failed[-1]["code"] == "AGENT_ERROR"
    assert "Old question" not in failed[-1]["message"]
    assert text_of(after) == "no question any more"


async def test_a_policy_pauses_denies_and_survives_a_restart_between_question_and_answer(
    tmp_path: Path,
) -> None:
    done: list[str] = []

    def register(bridge: Bridge) -> None:
        @bridge.policy
        def by_risk(call: ProposedCall) -> Verdict | str:
            if call.args["table"] == "prod":
                return Verdict("deny", "Nobody deletes prod.")
            return "ask" if not call.approved else "allow"

        @bridge.agent("a")
        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            result = await run.call("delete", {"table": run.text}, lambda table: done.append(table))
            yield f"{result}"

    bridge = Restarted(tmp_path, register)
    denied = await bridge.send("prod")
    paused = await bridge.send("logs")
    (ask,) = paused[-1]["outcome"]["interrupts"]
    resumed = await bridge.send(resume=resume_all(paused, {"approved": True}))
    replayed = await bridge.send(resume=resume_all(paused, {"approved": True}))
    again = await bridge.send("logs")
    declined = await bridge.send(resume=resume_all(again, {"approved": False, "reason": "no"}))

    assert denied[-1]["message"].endswith("the policy refused it. Nobody deletes prod.")
    assert (ask["reason"], ask["message"]) == (
        "tool_call",
        "The policy asks for an approval of 'delete'.",
    )
    kinds = [event["type"] for event in resumed]
    assert kinds.count("TOOL_CALL_RESULT") == 1
    assert "TOOL_CALL_START" not in kinds
    assert resumed[-1]["outcome"] == replayed[-1]["outcome"] == {"type": "success"}
    assert declined[-1]["message"].endswith("the person refused it.")
    assert done == ["logs"]


def test_an_adapter_that_can_not_honour_the_policy_is_refused_unless_exempt() -> None:
    def policy(call: ProposedCall) -> str:
        return "deny"

    class Remote(Scripted):
        capabilities = AdapterCapabilities()

    late, early = Bridge(), Bridge()
    late.add("remote", Remote())
    early.policy(policy)
    with pytest.raises(ConfigurationError, match=r"'remote' can't honour .*exempt=True"):
        late.policy(policy)
    with pytest.raises(ConfigurationError, match="'remote' can't honour the policy"):
        early.add("remote", Remote())
    assert list(early.agents) == []
    early.add("remote", Remote(), exempt=True)
    assert early.agents["remote"].policy is None
    with pytest.raises(ConfigurationError, match="a policy already"):
        early.policy(policy)
