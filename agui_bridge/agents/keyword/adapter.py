"""The adapter of agents that ask in words: a sentence such as "Please confirm" becomes a pause.

It wraps any adapter that streams text, lets everything through at once, and scans what the agent
says (`sentences.scanner`). Source: SuperAgent's page "Interrupt/Resume".

What becomes of a request
- The pause is raised when the response ends, so that all of it stands before the question. Its
  message is the sentence. Several sentences are all shown, a line each, long ones around their
  phrases (`keyword.message`): one answer goes to all of them.
- A sentence that seems to mention its phrase only (`sentences.mentions`) raises no pause when the
  response ends. But it holds like any other (unless `sentences.mentions` says not), and once
  something was held back, the pause is raised with that sentence.
- From the moment its phrase is complete nothing new is carried out. A tool call, or a sub-agent,
  that begins then is not let through: the agent inside is told to stop (or closed, when it can't
  be), and the pause is raised. What had begun before may finish. An agent function does not get to
  carry out a step, a call or a tool (see `Run.before_act`). An adapter whose tools run on another
  server is stopped as soon as it tells of the call; whether that server has begun by then, nobody
  here can know.
- A pause of the agent's own, or a handoff, goes first and passes through, and so do its answers.

How the answer reaches the agent
- As a message of the user, by templates (`Replies`), in a fresh run: the agent goes on from the
  conversation, not from where it stood. What it did through `run.step` is not remembered.
- The message is emitted as an event of role `user`, so that the engine folds it into the thread's
  history and stores it like any other: each later run sees the request answered, after a restart
  as well, and clients have it under the id that the store knows. It is emitted with the agent's
  first item and not before, because an agent that could not be reached (NotDelivered) has not got
  the answer: then the question stands open again. A run that is cancelled before the first item
  leaves the request unanswered in the history, which nobody can mistake for a yes.
- After a yes an agent may say again, word for word, what it had said when something was held back
  (a plain function does), and then goes on: it was answered. Whatever else holds is asked anew.
- A request that expired, was stopped, or whose answer's run was lost is told to the next run, as a
  message before the new ones; that one is not stored, the conversation goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from ag_ui.core import TextMessageContentEvent

from agui_bridge.adapters import (
    Adapter,
    AdapterCapabilities,
    Ask,
    Checkpoint,
    Handoff,
    HoldEnd,
    Holds,
    Pause,
    Run,
    RunItem,
    close_items,
)
from agui_bridge.agents.function.adapter import AgentFunction, FunctionAdapter
from agui_bridge.agents.keyword.phrases import PHRASES, Replies
from agui_bridge.agents.keyword.turn import Inner, Requested, Turn, open_envelope
from agui_bridge.agents.sentences.code import one_line
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import AsksInWords, FoundRequest, SentenceScanner
from agui_bridge.errors import ConfigurationError, NotDelivered, ProtocolViolation
from agui_bridge.protocol.answers.forms import (
    CONFIRM,
    FormField,
    Language,
    language_of,
    schema_from_fields,
)
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.threads.records import Json

_HEARD: Final = 500
"""Pieces of what an agent has said that a judge reads, and its language is told by."""

_JUDGING: Final = 10.0
"""Seconds that a judge may take."""

logger: Final = logging.getLogger("agui_bridge.agents")


Judge = Callable[[str, str], Awaitable[bool]]
"""Tells of a sentence, and of what was said in its turn, whether the sentence asks."""


class KeywordAdapter(AsksInWords):
    """Pauses an agent when it asks for a confirmation in words.

    Args:
        agent: an adapter, or the function of a function agent.
        phrases: what counts as a request, compared as docs/keyword-agents.md says.
        fields: the form; by default one confirm field that must be filled in.
        label: the label of that field; by default "Confirm", or "确认" in a Chinese sentence.
        replies: what the agent is told; by default in the language of the sentence.
        expires_in: seconds until a request can't be answered; None takes the agent's setting.
        judge: an async function of a sentence and of what the agent has said in this turn, asked
            before a card is shown while nothing is held back: False shows none for this sentence.
            If it fails, or takes longer than 10 s, there is a card.

    Attributes:
        inner: the agent inside.
        capabilities: those of the agent inside.

    Raises:
        ConfigurationError: the function is none, there is no phrase, or one can't be found: it
            is empty, or has the end of a sentence or code in it; or the form has no field.
    """

    @checked_arguments("KeywordAdapter")
    def __init__(
        self,
        agent: Adapter | AgentFunction,
        *,
        phrases: Sequence[str] = PHRASES,
        fields: Sequence[FormField] | None = None,
        label: str | None = None,
        replies: Replies | None = None,
        expires_in: float | None = None,
        judge: Judge | None = None,
    ) -> None:
        """Wrap an agent."""
        self.inner: Adapter = _as_adapter(agent)
        # The question is this adapter's own: it is answered and cancelled here.
        self.capabilities: AdapterCapabilities = replace(
            self.inner.capabilities,
            answer=True,
            cancel=True,
            looks=False,
            called_back=False,
            checkpoints=False,
        )
        if isinstance(phrases, str) or not phrases:
            raise ConfigurationError("phrases: give a list of at least one phrase.")
        self._table = _table(tuple(phrases))
        if fields is not None and not fields:
            raise ConfigurationError("A request needs at least one form field to be answered in.")
        self._fields = tuple(fields) if fields is not None else None
        self._label = label
        self._replies = replies
        self._expires_in = expires_in
        self._judge = judge

    def scanner(self) -> SentenceScanner:
        """A scanner for one message of this agent, for a surface that shows questions apart."""
        return SentenceScanner(self._table)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            ReplayMismatch: the continuation is of another version.
            NotDelivered: the agent inside raised it before it said anything.
            ProtocolViolation: the agent inside yields checkpoints, which nobody wants here.
            Exception: whatever else the agent inside raised, unchanged.
        """
        turn = Turn(run, self._table, self._replies)
        items = self.inner.run(turn.inner)
        said: deque[str] = deque(maxlen=_HEARD)
        try:
            async for item in items:
                for event in turn.take_answer():
                    yield event
                if isinstance(item, Checkpoint):
                    raise ProtocolViolation("a keyword agent's run has no checkpoints")
                if isinstance(item, Pause | Handoff):
                    if turn.is_held_back(item):
                        if isinstance(item, Pause) and item.held:
                            await self._end_waiting(item.continuation, "stopped")
                        break
                    yield turn.wrapped(item)
                    return
                if turn.lets_through(item):
                    if isinstance(item, str | TextMessageContentEvent):
                        said.append(item if isinstance(item, str) else item.delta)
                    yield item
                elif not self.inner.capabilities.stop:
                    break
        except NotDelivered:
            raise
        except Exception:
            # It had the answer, whatever it did with it: the conversation says so.
            for event in turn.take_answer():
                yield event
            raise
        finally:
            turn.report()
            await close_items(items)
        for event in turn.take_answer():
            yield event
        requests, held_after = turn.finish()
        if held_after is None:
            requests = await self._judged(requests, "".join(said))
        if requests and not run.stop.requested:
            for event in turn.settle_calls():
                yield event
            language = _language_of(requests, "".join(said), run)
            yield self._pause(requests, held_after, language, turn.open_frontend_calls)

    async def closed(self, continuation: Json, end: HoldEnd) -> None:
        """End what waits of the agent inside (see `Holds`).

        Args:
            continuation: of the pause.
            end: why nobody waits any more.
        """
        past = open_envelope(continuation)
        if isinstance(past, Inner):
            await self._end_waiting(past.continuation, end)

    async def _end_waiting(self, continuation: Json, end: HoldEnd) -> None:
        if isinstance(self.inner, Holds):
            await self.inner.closed(continuation, end)

    async def aclose(self) -> None:
        """Release what the agent inside holds."""
        await self.inner.aclose()

    async def _judged(self, requests: list[FoundRequest], said: str) -> list[FoundRequest]:
        """Those that the judge takes for requests, and those that it can't judge."""
        judge = self._judge
        if judge is None or not requests:
            return requests

        async def asks(request: FoundRequest) -> bool:
            try:
                async with asyncio.timeout(_JUDGING):
                    return await judge(request.sentence, said) is not False
            except Exception as error:
                logger.warning("The judge of a keyword agent failed; a card is shown: %r", error)
                return True

        verdicts = await asyncio.gather(*map(asks, requests))
        return [request for request, ask in zip(requests, verdicts, strict=True) if ask]

    def _pause(
        self,
        requests: Sequence[FoundRequest],
        held_after: str | None,
        language: Language,
        frontend_calls: Sequence[str],
    ) -> Pause:
        label = self._label if self._label is not None else CONFIRM[language]
        fields = self._fields or (FormField("confirm", "confirm", label, required=True),)
        ask = Ask(
            native_id="request",
            reason="confirmation",
            message=question(requests),
            response_schema=schema_from_fields(fields),
            expires_in=self._expires_in,
        )
        return Pause([ask], Requested(language, fields, held_after).pack(), frontend_calls)


def _as_adapter(agent: Adapter | AgentFunction) -> Adapter:
    # A class has an adapter's members without being one; a function agent's check says so.
    if isinstance(agent, Adapter) and not isinstance(agent, type):
        return agent
    return FunctionAdapter(cast(AgentFunction, agent))


def _language_of(requests: Sequence[FoundRequest], said: str, run: Run) -> Language:
    """The language of what is asked; the phrase may be one that the agent was told to use."""
    asked = [r.sentence[: r.phrase_start] + r.sentence[r.phrase_end :] for r in requests]
    for request in requests:
        said = said.replace(request.sentence, " ")
    return language_of(" ".join(asked), said, run.text, requests[0].phrase)


@lru_cache(maxsize=8)
def _table(phrases: tuple[str, ...]) -> PhraseTable:
    # Most agents have the phrases of the package: one table serves them all.
    for phrase in phrases:
        scanner = SentenceScanner(PhraseTable([phrase]))
        scanner.feed(f"{phrase} 1.")
        scanner.end()
        if not scanner.found:
            raise ConfigurationError(
                f"The phrase {phrase!r} can't be found: a phrase has letters or digits, and no "
                "line break, no code and no end of a sentence inside."
            )
    return PhraseTable(phrases)


LONGEST_MESSAGE = 2000
"""Characters of a question, unless that would be too few for its requests or a phrase."""

SHORTEST_LINE = 80
"""Characters that a request is never cut below: with very many the question is longer instead."""

_CUT = "…"


def question(requests: Iterable[FoundRequest]) -> str:
    """The sentences, a line each and none twice; long ones are cut to what short ones leave.

    One answer goes to all requests, so nobody may answer what they were not shown: every
    request has a line, and of a long one the part around its phrase is shown.
    """
    distinct = {(r.sentence, r.phrase_start, r.phrase_end): r for r in requests}
    share = _share([len(request.sentence) for request in distinct.values()])
    return "\n".join(_shortened(request, share) for request in distinct.values())


def _share(lengths: Sequence[int]) -> int:
    """How long a line may be: what is shorter leaves its rest to the others."""
    room = LONGEST_MESSAGE - (len(lengths) - 1)
    for others, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        if length * others > room:
            return max(room // others, SHORTEST_LINE)
        room -= length
    return LONGEST_MESSAGE


def _shortened(request: FoundRequest, share: int) -> str:
    sentence, start, end = one_line(request.sentence), request.phrase_start, request.phrase_end
    if len(sentence) <= share:
        return sentence
    size = max(share, end - start + 2 * len(_CUT))
    # What follows the phrase comes first: before it a quarter, and what the rest has no use for.
    begin = min(start - size // 4, len(sentence) + len(_CUT) - size)
    begin = max(begin, min(end + len(_CUT), len(sentence)) + len(_CUT) - size, 0)
    head = _CUT if begin else ""
    stop = begin + size - len(head)
    if stop >= len(sentence):
        return head + sentence[begin:]
    return head + sentence[begin : stop - len(_CUT)] + _CUT
