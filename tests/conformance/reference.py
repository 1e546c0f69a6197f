"""A small correct AG-UI agent, and every way in which it can be broken.

Its runs, over Starlette; `reference_thread` decides what counts, `reference_events` is the wire.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.conformance.reference_events import (
    Event,
    drafted,
    encoded,
    shown,
    snapshots,
    snapshots_of_pause,
    text_content,
    tool_call,
)
from tests.conformance.reference_input import input_fault
from tests.conformance.reference_thread import (
    Ask,
    Process,
    Refusal,
    ReplayedAnyway,
    Store,
    Thread,
    admit,
)

__all__ = ["Reference"]

TOOL_SECONDS = 0.2
TOKEN_SECONDS = 0.005
BRIEF_SECONDS = 0.4
KNOWN = {"threadId", "runId", "parentRunId", "protocolVersion", "state", "messages", "tools",
         "context", "forwardedProps", "resume"}  # fmt: skip


class Reference:
    """One process of the agent."""

    def __init__(self, store: Store, *flaws: str) -> None:
        self.process = Process(store, frozenset(flaws))
        self.has = self.process.has
        self._restarted = False

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/agent", self.run_agent, methods=["POST"]),
                Route("/stop/{thread}", self.stop, methods=["POST"]),
                Route("/effects", self.effects),
                Route("/capabilities", self.capabilities),
                Route("/agent/capabilities", self.capabilities),
            ]
        )

    def restart(self) -> None:
        """Forget what a process forgets when it is killed: nothing that was stored."""
        self._restarted = True
        for thread in self.process.store.threads.values():
            if self.has("volatile-asks"):
                thread.asks.clear()
            for ask in thread.asks.values():
                if self.has("volatile-receipts"):
                    ask.status, ask.answer = "open", None

    async def effects(self, request: Request) -> Response:
        marker = request.query_params["marker"]
        return JSONResponse([line for line in self.process.store.effects if marker in line])

    async def capabilities(self, request: Request) -> Response:
        if self.has("no-capabilities"):
            return Response(status_code=404)
        return JSONResponse({"humanInTheLoop": {"supported": True, "interrupts": True}})

    async def stop(self, request: Request) -> Response:
        thread = self.process.store.thread(self._who(request), request.path_params["thread"])
        was_running = thread.busy is not None
        if thread.busy is not None:
            thread.stop = True
            await thread.busy.wait()
            thread.locked = self.has("stop-locks")
        elif self.has("stop-sticks"):
            thread.stop = True
        if not self.has("stop-keeps-asks") and not (was_running and self.has("stop-reopens")):
            for ask in thread.open:
                ask.status = "stopped"
        return JSONResponse({"stopped": True})

    def _who(self, request: Request) -> str:
        return "all" if self.has("shared-scope") else request.headers.get("authorization", "")

    async def run_agent(self, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
            fault = input_fault(body, self.process)
        except ValueError:
            body, fault = {"threadId": "", "runId": ""}, "no JSON"
        draft = request.query_params.get("dialect") == "draft"
        if draft and isinstance(answer := body.get("resume"), dict):
            body["resume"] = [{"status": "resolved", **answer}]
            fault = input_fault(body, self.process)
        if body.get("protocolVersion", "1.0") != "1.0" and self.has("refuses-newer"):
            fault = "version"
        if set(body) - KNOWN and self.has("refuses-unknown"):
            fault = "unknown members"
        if fault is not None and not self.has("no-validation"):
            return JSONResponse({"error": {"message": fault}}, 422)
        stream = self._error(body) if fault else self._run(self._who(request), body)
        if draft:
            stream = drafted(self.process, stream)
        return StreamingResponse(encoded(self.process, stream), media_type="text/event-stream")

    async def _error(self, body: Mapping[str, Any]) -> AsyncIterator[Event]:
        yield {"type": "RUN_ERROR", "message": "malformed"}

    async def _run(self, who: str, body: dict[str, Any]) -> AsyncIterator[Event]:
        thread = self.process.store.thread(who, body["threadId"])
        run = "own" if self.has("own-run-id") else body["runId"]
        version = "1.1" if self.has("speaks-1.1") else "1.0"
        if self.has("echo-version"):
            version = body.get("protocolVersion", version)
        ids = {"threadId": thread.id, "runId": run}
        yield {"type": "RUN_STARTED", **ids, "protocolVersion": version}
        users = [m for m in body["messages"] if m["role"] == "user"]
        text = users[-1]["content"] if users else None
        try:
            decision = await admit(self.process, thread, body, text)
        except ReplayedAnyway:
            decision = "replay"
        except Refusal as refusal:
            async for event in self._refused(thread, body, ids, str(refusal)):
                yield event
            return
        if decision == "replay":
            for event in snapshots(thread):
                yield event
            yield self._finished(thread, body, ids)
            return
        thread.busy = thread.busy or asyncio.Event()
        try:
            if decision == "start":
                known = {m["id"] for m in thread.messages}
                if self.has("stale-takes-back"):
                    listed = {m["id"] for m in body["messages"]}
                    thread.messages = [m for m in thread.messages if m["id"] in listed]
                thread.messages += [m for m in users if m["id"] not in known]
                steps = self._start(thread, body, text or "")
            else:
                assert not isinstance(decision, str)
                steps = self._resume(thread, body, decision)
            async for event in steps:
                yield event
            approved = isinstance(decision, list) and any(map(self._is_approved, decision))
            if approved and self._restarted and self.has("error-after-restart"):
                yield {"type": "RUN_ERROR", "message": "the checkpoint is gone"}
            elif approved and self.has("error-for-fresh-client") and not body["messages"]:
                yield {"type": "RUN_ERROR", "message": "there are no messages"}
            elif approved and self.has("approved-is-cancelled"):
                yield {"type": "RUN_FINISHED", **ids, "outcome": {"type": "cancelled"}}
            elif (denied := self._fails(decision)) is not None:
                yield denied
            else:
                yield self._finished(thread, body, ids)
        finally:
            thread.stop = False
            if thread.busy is not None:
                thread.busy.set()
                thread.busy = None

    def _fails(self, decision: Sequence[Ask] | str) -> Event | None:
        denied = {"status": "resolved", "payload": {"approved": False}}
        if isinstance(decision, str) or not self.has("denial-is-error"):
            return None
        was_denied = any(ask.answer == denied for ask in decision)
        return {"type": "RUN_ERROR", "message": "denied"} if was_denied else None

    async def _refused(
        self, thread: Thread, body: dict[str, Any], ids: dict[str, Any], code: str
    ) -> AsyncIterator[Event]:
        if thread.open and not self.has("bare-refusal"):
            for event in snapshots(thread):
                yield event
            yield self._finished(thread, body, ids)
        if code == "INTERRUPT_NOT_FOUND" and self.has("unknown-is-silent"):
            if not thread.open:
                yield self._finished(thread, body, ids)
            return
        yield {"type": "RUN_ERROR", "code": code, "message": "refused"}

    def _finished(self, thread: Thread, body: Mapping[str, Any], ids: Mapping[str, Any]) -> Event:
        event: Event = {"type": "RUN_FINISHED", **ids}
        if self.has("null-members"):
            event["timestamp"] = None
        if thread.stop:
            kind = "success" if self.has("stop-is-success") else "cancelled"
            return {**event, "outcome": {"type": kind}}
        waiting = [ask for ask in thread.open if not ask.is_expired]
        if waiting and not self.has("no-outcome") and not self.has("asks-by-custom"):
            old = "protocolVersion" not in body and not self.has("expires-for-all")
            for ask in waiting:
                ask.tell()
            asked = [shown(self.process, ask, old) for ask in waiting]
            return {**event, "outcome": {"type": "interrupt", "interrupts": asked}}
        if thread.pending_calls and not self.has("frontend-interrupt"):
            outcome = {"type": "success", "pendingToolCallIds": list(thread.pending_calls)}
            return {**event, "outcome": outcome}
        return {**event, "outcome": {"type": "success"}}

    # --- a new message ---

    async def _start(self, thread: Thread, body: dict[str, Any], text: str) -> AsyncIterator[Event]:
        verb, _, name = text.partition(" ")
        done = [ask for ask in thread.asks.values() if ask.status == "carried-out"]
        if verb == "send" and done and self.has("repeats-execute"):
            self._execute(done[-1], body)
        elif thread.pending_calls and self._take_results(thread, body):
            for event in self._says(thread, "Shown."):
                yield event
        elif verb in ("send", "both", "brief", "nested"):
            async for event in self._ask(thread, verb, name):
                yield event
        elif verb in ("form", "falsy", "confirmation"):
            ask = Ask(verb, {"confirmed": name}, owner=self.process)
            thread.asks[ask.id] = ask
            for event in snapshots(thread):
                yield event
        elif verb == "amid":
            for event in self._ask_amid(thread, name):
                yield event
        elif verb == "frontend":
            call = f"call-{uuid.uuid4().hex}"
            thread.pending_calls = [call]
            for event in tool_call(thread, call, "show_page", {"page": name}):
                yield event
            if self.has("frontend-interrupt"):
                ask = Ask("frontend", {}, call=call)
                thread.asks[ask.id] = ask
        elif verb == "slow":
            async for event in self._slow(thread, int(name)):
                yield event
        else:
            for event in self._says(thread, f"You said {text}"):
                yield event

    def _ask_amid(self, thread: Thread, name: str) -> list[Event]:
        ask = Ask("amid", {"to": name}, owner=self.process)
        thread.asks[ask.id] = ask
        events = tool_call(thread, ask.call, "send_email", ask.args)
        if self.has("result-amid"):
            events.append(
                {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": uuid.uuid4().hex,
                    "toolCallId": ask.call,
                    "content": "May it?",
                    "role": "tool",
                }
            )
        return [*events, *snapshots(thread)]

    def _take_results(self, thread: Thread, body: dict[str, Any]) -> bool:
        results = [m for m in body["messages"] if m.get("toolCallId") in thread.pending_calls]
        if not results or self.has("ignores-frontend-result"):
            return False
        thread.messages += results
        thread.pending_calls = []
        return True

    async def _ask(self, thread: Thread, verb: str, name: str) -> AsyncIterator[Event]:
        agents = [f"agent-{uuid.uuid4().hex}" for _ in range(3)] if verb == "nested" else []
        for number, agent in enumerate(agents):
            parent = {} if self.has("flat-subagents") or not number else {
                "parentSubagentRunId": agents[number - 1]
            }  # fmt: skip
            yield {"type": "SUBAGENT_STARTED", "subagentRunId": agent, "name": "a", **parent}
        made: list[Ask] = []
        for number in range(2 if verb == "both" else 1):
            ask = Ask(
                "approval",
                {"to": f"{name}-{number}", "body": "original"},
                lasts=BRIEF_SECONDS if verb == "brief" else None,
                subagent=agents[-1] if agents else None,
                owner=self.process,
            )
            if made and self.has("same-calls"):
                ask = replace(ask, call=made[0].call)
            if self.has("calls-by-number"):
                ask = replace(ask, call=f"call-{number}")
            made.append(ask)
            # A flow asks about a step of its own, which no client sees as a tool call.
            events = tool_call(thread, ask.call, "send_email", ask.args)
            if self.has("flow"):
                events = []
                thread.messages.pop()
            for event in events:
                tag = {"subagentRunId": agents[-1]} if agents else {}
                yield {**event, **tag}
            if self.has("eager"):
                self._execute(ask)
        thread.asks |= {ask.id: ask for ask in made}
        for agent in reversed(agents):
            yield {
                "type": "SUBAGENT_FINISHED",
                "subagentRunId": agent,
                "outcome": {"type": "suspended"},
            }
        if not self.has("no-snapshots"):
            for event in snapshots_of_pause(self.process, thread):
                yield event
        if self.has("asks-by-custom"):
            yield {"type": "CUSTOM", "name": "on_interrupt", "value": "May it?"}

    async def _slow(self, thread: Thread, count: int) -> AsyncIterator[Event]:
        message: dict[str, Any] = {"id": uuid.uuid4().hex, "role": "assistant", "content": ""}
        yield {"type": "TEXT_MESSAGE_START", "messageId": message["id"], "role": "assistant"}
        for number in range(count):
            await asyncio.sleep(TOKEN_SECONDS)
            if thread.stop:
                break
            message["content"] += f"{number} "
            yield text_content(message["id"], f"{number} ")
        if not self.has("drops-partial"):
            thread.messages.append(message)
        yield {"type": "TEXT_MESSAGE_END", "messageId": message["id"]}

    def _says(self, thread: Thread, text: str) -> list[Event]:
        message = uuid.uuid4().hex
        thread.messages.append({"id": message, "role": "assistant", "content": text})
        if self.has("chunks-in-another-role"):
            chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": message}
            return [
                {**chunk, "role": "assistant", "delta": text},
                {**chunk, "role": "user", "delta": text},
            ]
        tag = {"subagentRunId": "unannounced"} if self.has("unannounced-subagents") else {}
        events = [
            {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant", **tag},
            text_content(message, text),
        ]
        if self.has("empty-deltas"):
            events.append(text_content(message, ""))
        end = {"type": "TEXT_MESSAGE_END", "messageId": message}
        return events if self.has("unclosed-text") else [*events, end]

    # --- an answer ---

    async def _resume(
        self, thread: Thread, body: dict[str, Any], asks: Sequence[Ask]
    ) -> AsyncIterator[Event]:
        ran = False
        for ask in asks:
            if self.has("streams-again" if ask.kind == "approval" else "begins-anew"):
                for event in tool_call(Thread(""), ask.call, "send_email", ask.args):
                    yield event
            content = "not executed"
            if self._is_approved(ask) and not (ran and self.has("once-per-tool")):
                ran = True
                await self._work(thread)
                self._execute(ask, body)
                content = "sent"
            ask.status = "carried-out"
            if thread.stop and self.has("stop-reopens"):
                ask.status, ask.answer = "open", None
            cancelled = ask.answer is not None and ask.answer["status"] == "cancelled"
            tool_bound = ask.kind == "amid" or (ask.kind == "approval" and not self.has("flow"))
            if not tool_bound or (cancelled and self.has("dangling")):
                continue
            message = {"id": uuid.uuid4().hex, "toolCallId": ask.call, "content": content}
            thread.messages.append({**message, "role": "tool"})
            if not self.has("no-result"):
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": message["id"],
                    "toolCallId": ask.call,
                    "content": content,
                    "role": "tool",
                }
        for event in self._says(thread, "Done."):
            yield event
        if not self.has("no-snapshot-after"):
            for event in snapshots(thread):
                yield event

    async def _work(self, thread: Thread) -> None:
        """The tool takes its time; where a stop is what is broken, until there is one."""
        for _ in range(5 if self.has("stop-reopens") else 1):
            await asyncio.sleep(0 if thread.stop else TOOL_SECONDS)

    def _is_approved(self, ask: Ask) -> bool:
        assert ask.answer is not None
        if ask.kind == "confirmation":
            return bool((ask.answer["payload"] or {}).get("confirm"))
        if ask.kind == "amid":
            return bool(ask.answer["status"] == "resolved")
        if ask.kind != "approval":
            return False
        if ask.answer["status"] == "cancelled":
            return self.has("executes-cancelled")
        if self.has("executes-declined"):
            return True
        return bool((ask.answer["payload"] or {}).get("approved"))

    def _execute(self, ask: Ask, body: Mapping[str, Any] | None = None) -> None:
        payload = (ask.answer or {}).get("payload") or {}
        args: Mapping[str, str] = ask.args
        if self.has("trusts-arguments") and body is not None:
            for message in body["messages"]:
                for call in message.get("toolCalls", ()):
                    if call["id"] == ask.call:
                        args = json.loads(call["function"]["arguments"])
        if not self.has("ignores-edits"):
            args = payload.get("editedArgs", args)
        self.process.store.effects.append(json.dumps(args))
