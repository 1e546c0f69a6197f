"""One turn of an agent: what it says is told, what it asks is decided, by record or by people.

An agent asks in a process that waits, and the question would be lost with the process. So the
bridge keeps the question, and the turn is held: as long as the agent lives and waits, it is given
the yes, or the form, and goes on where it stood.

A hold ends: the agent dies, is let go, or the answer comes to another process. Then the turn is
ended at the question: the request is answered as cancelled, after which the agent has carried
nothing out. Once people have decided, the agent is told so in a new turn of the same session, by
whichever process. It proposes the call again, and is allowed it if it is the call that was
approved: one that was shown alike and would do the same. The decision serves one call. Another call
is another question. So it goes on, too, where there is more to say than yes: a request has no place
for the reason of a no, nor for what a person said besides.

What the agent is allowed may have been carried out, whatever becomes of the agent. What it was not
allowed was never begun.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import AgentRefused, OutcomeUnknown, UpstreamError
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge_acp.calls import AgentCall
from agui_bridge_acp.connection import Asked, Gone, RpcError, Told
from agui_bridge_acp.questions import (
    CANCELLED,
    FORM,
    Recorded,
    Waiting,
    answer_to,
    ask_of,
    call_asked,
    form_asked,
    may_be_allowed_once,
)
from agui_bridge_acp.reader import Reader
from agui_bridge_acp.session import Session, check_mode

_TOGETHER: Final = 0.05
"""Seconds after a question in which another one is asked together with it."""

_BESIDE: Final = 10.0
"""Seconds for which a question waits for the calls that run beside it: they would be cut off."""

_ENDING: Final = 5.0
"""Seconds that an agent has to end a turn that is cancelled."""

_LATE: Final = 0.1
"""Seconds for which results are waited for that come after the turn's end, as Codex sends them."""

_OTHER_INSTEAD: Final = (
    "The agent did not propose this tool call again once it was approved; it was not executed."
)
_REASONS: Final = {
    "max_tokens": EndReason.CONTEXT_TOKEN_LIMIT,
    "max_turn_requests": EndReason.MAX_ITERATIONS_REACHED,
}


class Turn:
    """A turn.

    Args:
        session: of which.
        run: the run that it is of.
        recorded: the decisions that the run begins with.
        name: by which it is found again while it is held.

    Attributes:
        name: the same.
        ended: whether the agent has ended it, so that the session can go on.
        held: whether it waits at its questions for what people decide.
    """

    def __init__(self, session: Session, run: Run, recorded: Recorded, name: str) -> None:
        self.name = name
        self._session = session
        self._connection = session.connection
        self._run = run
        self._recorded = recorded
        self._reader = Reader(run.mint, run.call_ids().new, recorded.awaits)
        self._waiting: list[Waiting] = []
        self._asked_at = 0.0
        self._first_asked_at = 0.0
        self._cancelled = False
        self._ending: asyncio.Future[Any] | None = None
        self.ended: bool = False
        self.held: bool = False

    @property
    def session(self) -> Session:
        """Of which it is."""
        return self._session

    @property
    def waits(self) -> bool:
        """Whether it is held, and the agent lives, in this loop: it can be given its answers."""
        connection = self._connection
        waiting = self._ending is not None and not self._ending.done()
        here = connection.loop is asyncio.get_running_loop()
        return self.held and waiting and connection.alive and here

    def items(self, content: Sequence[Json]) -> AsyncGenerator[RunItem, None]:
        """Give what is to be told, to the turn's end or the pause.

        Args:
            content: what the agent is told.

        Raises: as `go_on`.
        """
        return self._items(partial(self._begin, content))

    def go_on(self, run: Run, decisions: Sequence[Decision]) -> AsyncGenerator[RunItem, None]:
        """The same of a turn that is held.

        Args:
            run: that goes on with it.
            decisions: on its questions, in their order; none that a request has no place for.

        Raises:
            UpstreamError: the agent failed, or left its mode.
            OutcomeUnknown: the same, once it was allowed a call whose result was not told.
            AgentRefused: it refuses to go on.
            Fenced: another process may have the run.
        """
        self._run, self.held = run, False
        self._reader.serve(run.mint, run.call_ids().new)
        return self._items(partial(self._give, decisions))

    async def _begin(self, content: Sequence[Json]) -> None:
        self._ending = await self._session.prompt(content)

    async def _items(self, begin: Callable[[], Awaitable[None]]) -> AsyncGenerator[RunItem, None]:
        run, reader = self._run, self._reader
        stopping = asyncio.create_task(self._notice_stop())
        try:
            await begin()
            ending = self._ending
            assert ending is not None, "it has begun"
            while True:
                self._connection.changed.clear()
                while (message := self._connection.take()) is not None:
                    for item in await self._heard(message):
                        yield item
                if ending.done():
                    break
                left: float | None = None
                if run.stop.requested:
                    if not self._cancelled:
                        # Also where a call runs: by itself the agent would begin the next one.
                        await self._cancel()
                elif self._waiting and (left := self._until_pause()) <= 0:
                    for item in [*self._shown(), *self._unserved()]:
                        yield item
                    # Proposed again after that, a call is another one.
                    self._recorded.left.clear()
                    # A diff of long files takes its time.
                    pause = await asyncio.to_thread(self._pause)
                    self.held = True
                    yield pause
                    return
                await self._wait(left)
            for item in await self._late():
                yield item
            self._finish(ending)
            for item in reader.close():
                yield item
        except (Gone, RpcError) as error:
            run.not_begun = self._never_begun()
            raise self._broken_off(error) from error
        except UpstreamError as error:
            run.not_begun = self._never_begun()
            raise self._broken_off(error) from error
        finally:
            stopping.cancel()
            if not self.held:
                self._connection.listen(on=False)

    # --- what comes ---

    async def _heard(self, message: Told | Asked) -> list[RunItem]:
        if message.params.get("sessionId") != self._session.id:
            if isinstance(message, Asked):
                await self._connection.refuse(message.number, message.method)
            return []
        if isinstance(message, Told):
            update = message.params.get("update")
            if message.method != "session/update" or not isinstance(update, dict):
                return []
            items = list(self._reader.take(update))
            check_mode(self._session, self._reader.mode)
            return items
        if message.method not in CANCELLED:
            await self._connection.refuse(message.number, message.method)
        elif self._cancelled:
            await self._connection.answer(message, CANCELLED[message.method])
        else:
            await self._asked(message)
        return []

    async def _asked(self, asked: Asked) -> None:
        """Answer a question by what was decided, or have people asked."""
        if asked.method == FORM:
            waiting = form_asked(asked)
        else:
            told = asked.params.get("toolCall")
            if not isinstance(told, dict) or not may_be_allowed_once(asked):
                raise UpstreamError(
                    "The agent asks for a permission that can't be given for once, and was ended."
                )
            waiting = call_asked(asked, self._reader.call_of(told))
        call = waiting.call
        known = None if call is not None and call.shown else self._recorded.take(waiting.question)
        if known is None:
            self._asked_at = asyncio.get_running_loop().time()
            self._first_asked_at = self._first_asked_at if self._waiting else self._asked_at
            self._waiting.append(waiting)
            return
        question, decision = known
        allows = isinstance(decision, Approve)
        if allows:
            await self._run.check_stop()
            if self._run.stop.requested:
                # Nothing begins after a stop: it is cancelled with the turn.
                self._recorded.left.append(known)
                self._waiting.append(waiting)
                return
            self._run.check_lease()
        if call is not None and question.call is not None:
            # It has its place in the conversation, under the id that it was shown with.
            call.id, call.shown = question.call.id, True
            call.allowed, call.refused = allows, not allows
        answer = answer_to(asked, decision)
        await self._connection.answer(asked, CANCELLED[asked.method] if answer is None else answer)

    # --- a question for people ---

    def _until_pause(self) -> float:
        """Seconds until people are asked."""
        now = asyncio.get_running_loop().time()
        together = self._asked_at + _TOGETHER - now
        return max(together, self._first_asked_at + _BESIDE - now) if self._acts() else together

    def _acts(self) -> bool:
        """Whether the agent carries out a call, as far as it says."""
        asked = {id(waiting.call) for waiting in self._waiting}
        calls = self._reader.calls.values()
        return any((c.runs or c.allowed) and not c.over and id(c) not in asked for c in calls)

    def _shown(self) -> Iterator[RunItem]:
        for waiting in self._waiting:
            if waiting.call is not None:
                yield from self._reader.show(waiting.call)
        yield from self._reader.close()

    async def let_go(self) -> None:
        """End the turn at its questions, of which nothing was carried out."""
        ending = self._ending
        assert ending is not None, "it has begun"
        self._reader.quiet, self.held = True, False
        with contextlib.suppress(Gone, RpcError, UpstreamError, TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._cancel()
                while True:
                    self._connection.changed.clear()
                    while (message := self._connection.take()) is not None:
                        await self._heard(message)
                    if ending.done():
                        break
                    await self._connection.changed.wait()
                self.ended = ending.exception() is None
        self._connection.listen(on=False)

    async def _give(self, decisions: Sequence[Decision]) -> None:
        """Give the agent what people decided on its questions."""
        waiting, self._waiting = self._waiting, []
        for one, decision in zip(waiting, decisions, strict=True):
            await self._run.check_stop()
            if self._run.stop.requested:
                self._waiting.append(one)
                continue
            self._run.check_lease()
            if one.call is not None:
                one.call.allowed = True
            answer = answer_to(one.asked, decision)
            assert answer is not None, "what can't be allowed once was not asked"
            await self._connection.answer(one.asked, answer)

    def _pause(self) -> Pause:
        asks = [ask_of(str(n), one, self._session.cwd) for n, one in enumerate(self._waiting)]
        questions = [one.question.json for one in self._waiting]
        kept = {"session": self._session.id, "turn": self.name, "questions": list(questions)}
        return Pause(asks, kept, held=True)

    def _unserved(self) -> Iterator[RunItem]:
        """Results that say so of the calls that were approved and not proposed again."""
        for call in self._recorded.calls:
            yield ToolCallResultEvent(
                message_id=self._run.mint(), tool_call_id=call, content=_OTHER_INSTEAD, role="tool"
            )

    # --- its end ---

    async def _notice_stop(self) -> None:
        await self._run.stop
        self._connection.changed.set()

    async def _cancel(self) -> None:
        """Have the agent end the turn: what it asks is answered as cancelled, as it must be."""
        self._cancelled = True
        for waiting in self._waiting:
            if waiting.call is not None:
                waiting.call.refused = True
        await self._session.cancel()
        for waiting in self._waiting:
            await self._connection.answer(waiting.asked, CANCELLED[waiting.asked.method])

    async def _wait(self, timeout: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._connection.changed.wait()

    async def _late(self) -> list[RunItem]:
        """What is told after the turn's end of the calls that have no result yet."""
        items: list[RunItem] = []
        until = asyncio.get_running_loop().time() + _LATE
        while any(c.shown and not (c.answered or c.refused) for c in self._reader.calls.values()):
            left = until - asyncio.get_running_loop().time()
            if left <= 0 or not self._connection.alive:
                break
            self._connection.changed.clear()
            while (message := self._connection.take()) is not None:
                items += await self._heard(message)
            await self._wait(left)
        return items

    def _finish(self, ending: asyncio.Future[Any]) -> None:
        """Note what the agent says of the turn that it has ended.

        Raises:
            RpcError: it failed.
            Gone: the agent has ended.
            AgentRefused: it refuses to go on.
        """
        told = ending.result()
        told = told if isinstance(told, dict) else {}
        self.ended = True
        run = self._run
        usage = told.get("usage")
        if isinstance(usage, dict):
            counted = {name: usage.get(name) for name in ("inputTokens", "outputTokens")}
            if all(isinstance(count, int) for count in counted.values()):
                run.usage.append(counted)
        run.not_begun = self._never_begun()
        reason = told.get("stopReason")
        if reason == "refusal" and not run.stop.requested:
            raise AgentRefused("The agent refuses to go on with this.")
        run.end_reason = _REASONS.get(str(reason))

    def _never_begun(self) -> list[str]:
        """Calls that the agent asked for and was not allowed."""
        asked = [one.call.id for one in self._waiting if one.call is not None]
        return [*asked, *self._recorded.calls]

    def _broken_off(self, error: Exception) -> UpstreamError | OutcomeUnknown:
        """The error of a turn that the agent did not end."""
        text = str(error) if isinstance(error, UpstreamError) else _sentence(error)
        if any(_may_have_run(call) for call in self._reader.calls.values()):
            return OutcomeUnknown(f"{text} It had been allowed a tool call by then.")
        return UpstreamError(text)


def _may_have_run(call: AgentCall) -> bool:
    return call.allowed and not call.answered


def _sentence(error: Exception) -> str:
    if isinstance(error, RpcError):
        return "The agent reported that its turn failed."
    return "The agent's process has ended."
