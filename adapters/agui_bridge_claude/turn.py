"""One run of Claude Code: what it is given, what becomes of its calls, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    PermissionResultDeny,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
)

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered, OutcomeUnknown, UpstreamError
from agui_bridge.frameworks.application import Application
from agui_bridge.frameworks.turn import GRACE, FrameworkTurn
from agui_bridge.protocol.answers.asks import Ask, Pause
from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.answers.unexecuted import STOPPED
from agui_bridge.protocol.threads.marks import marks_of
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.tool_gate import AskFirst, Execute, Refuse
from agui_bridge_claude.hook import Door, Said
from agui_bridge_claude.permissions import Permissions
from agui_bridge_claude.prompts import blocks_of, prompt_of
from agui_bridge_claude.questions import ASKING, answered, question
from agui_bridge_claude.reader import DELEGATING, Reader
from agui_bridge_claude.session import Beginning, Kept, Standing, Transcript
from agui_bridge_claude.tool_schemas import ToolSchemas

logger: Final = logging.getLogger("agui_bridge")

_UNANSWERED: Final = "Nobody answered; this tool call was not executed."
_AGAIN: Final = (
    "Not executed: another call of this reply waits for a person. Call this tool again afterwards."
)
_SUBAGENT_ASKS: Final = (
    "Not executed: a person has to be asked first, and a sub-agent can't wait for one. Say so at "
    "your end, so that whoever began you makes this call."
)
_UNASKED: Final = (
    "Not executed: Claude Code's permission rules want a person asked about this call, and nobody "
    "is: the agent's author has not named it for approval."
)


@dataclass(frozen=True)
class Settings:
    """What an adapter was given besides its options; see `ClaudeAgentAdapter`."""

    permissions: Permissions
    application: Application
    schemas: ToolSchemas


class Turn(FrameworkTurn):
    """One run.

    Args:
        run: the run.
        options: the author's.
        settings: the adapter's.
        leaving: gets the tasks that end a process of Claude Code, which may outlast the run.
    """

    def __init__(
        self,
        run: Run,
        options: ClaudeAgentOptions,
        settings: Settings,
        leaving: set[asyncio.Task[Any]],
    ) -> None:
        super().__init__(run, Kept.from_json)
        kept: Kept | None = self._kept
        self._options = options
        self._settings = settings
        self._leaving = leaving
        self._gate = self._make_gate(settings.permissions.must_be_approved)
        self._gate.failed = self._stop_working
        self._denied: dict[str, str] = {}
        self._reader = Reader(run, [kept.call] if kept else (), self._denied)
        # The session that it goes on with, and the messages that this lacks.
        standing = Standing.of(run) if kept is None else Standing(kept, kept.late)
        self._before, self._fork_at = standing.kept, standing.fork_at
        self._new = [*standing.messages, *(self._new_user_messages() if kept else ())]
        # Its id while it is forked is not known: that of the old one would be wrong to keep.
        self._session = self._before.session if self._before and not self._fork_at else ""
        self._transcript = Transcript(self._before.transcript if self._before else "")
        # The last line of the session, as far as it was told of.
        self._line = ""
        self._client: ClaudeSDKClient | None = None
        self._ask: Ask | None = None
        self._running: dict[str, AbstractAsyncContextManager[None]] = {}
        self._heard = asyncio.Event()
        # Whether what Claude Code does is what an unanswered call of an earlier run came to.
        self._dropping = ""
        # What tells of all that was used so far: its counts are of the process, not of a reply.
        self._used: ResultMessage | None = None

    # --- the agent's own task ---

    async def _work(self) -> ResultMessage:
        door = Door(self._judged)
        await door.open()
        try:
            async with self._connected(door) as client:
                return await self._talk(client)
        finally:
            await door.close()

    @contextlib.asynccontextmanager
    async def _connected(self, door: Door) -> AsyncGenerator[ClaudeSDKClient, None]:
        client = ClaudeSDKClient(self._given(door))
        try:
            try:
                await client.connect()
            except ClaudeSDKError as error:
                logger.warning("Claude Code did not start: %s", error)
                kind = UpstreamError if self._gate.begun else NotDelivered
                raise kind("Claude Code did not start.") from error
            self._client = client
            yield client
        finally:
            self._client = None
            # Cancelled amid, it would leave the process behind: so nobody cancels it.
            leaving = asyncio.create_task(client.disconnect())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            await asyncio.shield(leaving)

    def _given(self, door: Door) -> ClaudeAgentOptions:
        """The options of this run."""
        own = self._options
        # `SessionStore` has more than is needed; the SDK looks for what there is.
        store: Any = own.session_store or self._transcript
        if self._fork_at:
            store = Beginning(store, self._fork_at)
        return replace(
            self._settings.permissions.held(own),
            settings=door.settings(own.settings, own.cwd),
            resume=self._before.session if self._before else None,
            fork_session=bool(self._fork_at),
            session_store=store,
            include_partial_messages=True,
            forward_subagent_text=True,
            # What people write is told as it is: no `@path` opens a file, no `/command` runs.
            verbatim_prompts=True,
            can_use_tool=self._asked_by_rules,
        )

    async def _talk(self, client: ClaudeSDKClient) -> ResultMessage:
        """Have the session go on, then say what it has not heard."""
        result: ResultMessage | None = None
        if self._run.resume is not None:
            result = await self._take(client)
        elif self._before is not None and self._before.call:
            # The question was closed without an answer. Claude Code takes the call up all the same.
            self._dropping = self._before.call
            await self._take(client)
            self._dropping = ""
        stopped = self._run.stop.requested
        if not stopped and (result is None or (self._new and result.deferred_tool_use is None)):
            words = self._settings.application.words(self._run)
            blocks = blocks_of(self._new, words, known=self._before is not None)
            self._new = []
            await client.query(prompt_of(blocks))
            result = await self._take(client)
        if result is None:
            raise UpstreamError("Claude Code ended before it was asked.")
        return result

    async def _take(self, client: ClaudeSDKClient) -> ResultMessage:
        """Read to the end of what it does by itself."""
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                self._session = message.session_id
                self._used = message
                return message
            if isinstance(message, AssistantMessage | UserMessage):
                own = message.parent_tool_use_id is None
                self._line = (own and message.uuid) or self._line
            if self._dropping:
                if _has_result(message, self._dropping):
                    await client.interrupt()
                continue
            self._queue.write(message)
            if self._queue.full:
                await self._queue.drained()
        raise UpstreamError("Claude Code ended without a result.")

    def _told(self, events: Sequence[Any]) -> Iterator[RunItem]:
        yield from super()._told(events)
        for message in events:
            for call in _results_in(message):
                self._end_running(call)
        self._heard.set()

    # --- what becomes of a call ---

    async def _judged(self, said: Said) -> Mapping[str, Any]:
        """Answer the hook before a call: carry it out, don't, or wait for a person."""
        call, name, args = said["tool_use_id"], said["tool_name"], said["tool_input"]
        if self._dropping:
            return self._deny(call, _UNANSWERED)
        kept: Kept | None = self._kept
        decision = self._decisions.get(call)
        if kept is None or call != kept.call:
            await self._caught_up(call)
        elif name != kept.name:
            return self._deny(call, _UNANSWERED)
        if isinstance(decision, Answer) and kept is not None and call not in self._gate.begun:
            return await self._pass_on(call, kept, decision)
        parameters = await self._settings.schemas.of(self._options, name)
        verdict = await self._gate.before(call, name, args, parameters=parameters)
        match verdict:
            case Refuse(text=text):
                return self._deny(call, text)
            case _ if name == ASKING:
                self._gate.begun.discard(call)
                return self._defer(said, question(call, args))
            case Execute(args=approved):
                return await self._begin(call, name, approved, is_approved=decision is not None)
            case AskFirst(ask=ask):
                return self._defer(said, ask)

    async def _begin(
        self, call: str, name: str, args: Mapping[str, Any], *, is_approved: bool
    ) -> Mapping[str, Any]:
        if name in DELEGATING:
            # A stop waits for a sub-agent's tools, not for its model.
            self._reader.name_subagent(call, str(args.get("subagent_type") or "subagent"))
        else:
            running = self._gate.running(call)
            await running.__aenter__()
            self._running[call] = running
        if is_approved:
            return {"permissionDecision": "allow", "updatedInput": dict(args)}
        if self._settings.permissions.is_free(ToolCall(call, name, args)):
            return {"permissionDecision": "allow"}
        # Claude Code's own rules decide. What they want asked comes to `_asked_by_rules`.
        return {}

    async def _pass_on(self, call: str, kept: Kept, answer: Answer) -> Mapping[str, Any]:
        """Let the tool that asks return a person's answer."""
        await self._run.check_stop()
        if self._run.stop.requested:
            return self._deny(call, STOPPED)
        self._run.check_lease()
        self._gate.begun.add(call)
        given = answered(kept.args, answer.payload)
        return {"permissionDecision": "allow", "updatedInput": given}

    def _defer(self, said: Said, ask: Ask) -> Mapping[str, Any]:
        call = said["tool_use_id"]
        if said.get("agent_id"):
            # Claude Code forgets a sub-agent's call that waits.
            return self._deny(call, _SUBAGENT_ASKS)
        if self._ask is not None and self._ask.native_id != call:
            # Of several that wait it keeps one.
            return self._deny(call, _AGAIN)
        self._ask = ask
        return {"permissionDecision": "defer"}

    def _deny(self, call: str, text: str) -> Mapping[str, Any]:
        self._denied[call] = text
        return {"permissionDecision": "deny", "permissionDecisionReason": text}

    async def _asked_by_rules(self, name: str, args: Any, context: Any) -> PermissionResultDeny:
        """Answer Claude Code's rules, which want a person; nobody is asked at this point."""
        return PermissionResultDeny(message=_UNASKED)

    async def _caught_up(self, call: str) -> None:
        """Return once clients were told of a call, which comes another way than its hook."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                while not self._reader.has_told(call):
                    self._heard.clear()
                    await self._heard.wait()

    def _end_running(self, call: str) -> None:
        running = self._running.pop(call, None)
        if running is not None:
            task = asyncio.ensure_future(running.__aexit__(None, None, None))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    # --- its end ---

    async def _expect_delivered(self, failure: BaseException | None) -> None:
        await super()._expect_delivered(failure)
        if isinstance(failure, ClaudeSDKError) and self._is_untouched:
            raise NotDelivered("Claude Code broke off before it did anything.") from failure

    def _result(self, failure: BaseException | None) -> Any:
        if isinstance(failure, ClaudeSDKError):
            logger.warning("Claude Code broke off: %s", failure)
            if {*self._decisions} & self._gate.begun - self._reader.answered:
                raise OutcomeUnknown(
                    "Claude Code broke off while it carried an answer out."
                ) from failure
            raise UpstreamError("Claude Code broke off.") from failure
        return super()._result(failure)

    async def _stopped(self) -> None:
        await self._gate.stopped()
        if self._client is None or self._run.stop.force:
            return
        with contextlib.suppress(Exception):
            async with asyncio.timeout(GRACE):
                await self._client.interrupt()
        await asyncio.wait([self._working], timeout=GRACE)

    async def _left(self) -> None:
        run = self._run
        asked = self._ask.native_id if self._ask is not None else ""
        run.memo = None
        run.usage.extend(_usage_of(self._used))
        if run.stop.requested and self._session:
            run.memo = self._keep(call=asked)

    async def _ending(self, result: ResultMessage) -> AsyncGenerator[RunItem, None]:
        run = self._run
        deferred = result.deferred_tool_use
        if deferred is not None and self._ask is not None:
            kept = self._keep(call=deferred.id, name=deferred.name, args=deferred.input)
            yield Pause([self._ask], kept)
            return
        if deferred is not None or self._ask is not None:
            raise UpstreamError("Claude Code did not wait for the answer to a question.")
        if result.subtype == "error_max_turns":
            run.end_reason = EndReason.MAX_ITERATIONS_REACHED
        elif result.is_error:
            logger.warning("Claude Code ended with %s: %.500s", result.subtype, result.result)
            raise UpstreamError(f"Claude Code ended with {result.subtype}.")
        if result.structured_output is not None:
            run.result = result.structured_output
        run.memo = self._keep(ended=True)

    def _keep(self, *, ended: bool = False, **waiting: Any) -> Any:
        own = self._options.session_store is not None
        marks = [*marks_of(self._run.raw_messages), *self._reader.said]
        points = [*self._before.points] if self._before else []
        if ended and self._line:
            points.append((len(marks), self._line))
        kept = Kept(
            actor=self._actor,
            session=self._session,
            transcript="" if own else self._transcript.packed(self._session),
            marks=marks,
            late=self._new,
            points=points,
            **waiting,
        )
        return kept.to_json()


def _results_in(message: Any) -> list[str]:
    if not isinstance(message, UserMessage) or not isinstance(message.content, list):
        return []
    return [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]


def _has_result(message: Any, call: str) -> bool:
    return call in _results_in(message)


_PROVIDERS: Final[Mapping[str, str]] = {"firstParty": "anthropic", "anthropicAws": "bedrock"}
"""Names of providers, where Claude Code has its own."""


def _usage_of(result: ResultMessage | None) -> Iterator[dict[str, Any]]:
    """What was used and what that costs, by model; sub-agents' models among them.

    The cost is an estimate of Claude Code's, by list prices.
    """
    for model, used in ((result and result.model_usage) or {}).items():
        known: Mapping[str, Any] = {**used}
        cached, written = known["cacheReadInputTokens"], known["cacheCreationInputTokens"]
        given = known["inputTokens"] + cached + written
        entry = {
            "model": model,
            "inputTokens": given,
            "outputTokens": known["outputTokens"],
            "totalTokens": given + known["outputTokens"],
            "cachedInputTokens": cached,
            "cacheWriteInputTokens": written,
            "reasoningTokens": known.get("thinkingTokens"),
            "costUsd": known["costUSD"],
        }
        provider = known.get("provider")
        if provider is not None:
            entry["provider"] = _PROVIDERS.get(provider, provider)
        yield entry
