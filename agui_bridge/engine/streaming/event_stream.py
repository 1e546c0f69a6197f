"""A run's event stream on its way to one client, and to those that follow it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.protocol.approvals import told_to
from agui_bridge.protocol.contract.requests import Ruling
from agui_bridge.protocol.dialects import proposal_of
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, KINDS, delta_event
from agui_bridge.protocol.threads.client_messages import KeptReason
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json
from agui_bridge.protocol.wire.run_events import (
    activity_types,
    empty_message,
    messages_snapshot,
    outcome_now,
    refused_event,
    refused_outcome,
    run_error,
    run_finished,
    run_started,
    state_snapshot,
    told_kept,
)
from agui_bridge.protocol.wire.sse import encode

# --- what a stream has open, for who comes to it late: a reader that missed the beginning ---
#
# A snapshot alone can't tell that a message still grows: a delta for a message that the reader has
# not seen START is refused by strict clients. So what is open stands in the snapshot empty, and is
# opened and filled again by events of its own.

Message = Mapping[str, Any]


class Openings:
    """The events that opened what is open now, in their order."""

    def __init__(self) -> None:
        self._started: dict[tuple[str, str, str | None], WireEvent] = {}

    def note(self, event: WireEvent) -> None:
        """Take an event that was sent."""
        rule = EVENT_RULES[event["type"]]
        if rule.verb not in ("open", "close"):
            return
        # Steps are told apart by their owner too: two subagents may have one of the same name.
        owner = event.get("subagentRunId") if rule.kind == "step" else None
        key = (rule.kind, event[KINDS[rule.kind].key], owner)
        if rule.verb == "open":
            self._started[key] = event
        else:
            self._started.pop(key, None)

    def catch_up(self, messages: Iterable[Message]) -> tuple[list[Message], list[WireEvent]]:
        """Tell a conversation to who comes late.

        Args:
            messages: the conversation, what is open as far as it has come.

        Returns:
            The messages of a snapshot, and the events that follow it.
        """
        if not self._started:
            return list(messages), []
        said: dict[tuple[str, str], str] = {}
        shown = [self._emptied(message, said) for message in messages]
        events: list[WireEvent] = []
        for (kind, name, _), start in self._started.items():
            events.append(start)
            if text := said.get((kind, name)):
                events.append(delta_event(kind, name, start.get("subagentRunId"), text))
        return shown, events

    def _emptied(self, message: Message, said: dict[tuple[str, str], str]) -> Message:
        """A message without what is streamed into it now, which goes into `said`."""
        for kind in ("text", "reasoning"):
            if (kind, message["id"], None) in self._started:
                said[kind, message["id"]] = message["content"]
                message = {**message, "content": ""}
        calls = message.get("toolCalls") or ()
        if any(("call", call["id"], None) in self._started for call in calls):
            message = {**message, "toolCalls": [self._without_arguments(c, said) for c in calls]}
        return message

    def _without_arguments(
        self, call: Mapping[str, Any], said: dict[tuple[str, str], str]
    ) -> Mapping[str, Any]:
        if ("call", call["id"], None) not in self._started:
            return call
        said["call", call["id"]] = call["function"]["arguments"]
        return {**call, "function": {**call["function"], "arguments": ""}}


# --- the stream ---

logger: Final = logging.getLogger("agui_bridge")

FOLLOWER_PATIENCE = 2.0
"""Seconds that a run waits for one who only looks on."""


class EventStream:
    """What one client is told.

    Attributes:
        terminal: the last RUN_FINISHED or RUN_ERROR event, in the 1.0 shape; for callers
            without a connection. A refusal is a RUN_ERROR, however the client is told of it.
        ruling: what admission made of the input, for surfaces that answer with an HTTP status.
        activities: types of the activities that the conversation has had, as far as it was told.
        followers: streams that get what this one gets, each with its own ids and dialect. They
            hold the run back too, but not for long.
    """

    def __init__(self, submission: Submission, pipe: Pipe) -> None:
        self.pipe = pipe
        self.terminal: WireEvent | None = None
        self.ruling: Ruling | None = None
        self.activities: frozenset[str] = frozenset()
        self.followers: list[EventStream] = []
        self._thread_id = submission.parsed.input.thread_id
        self._run_id = submission.run_id
        self._answers = bool(submission.parsed.entries)
        self._dialect = submission.parsed.dialect
        self._refused_as = submission.refused_as
        self._principal = submission.principal
        self._words = submission.words
        self._told: list[Mapping[str, Json]] = []
        self._begun = False
        self._null = False
        self._openings = Openings()
        self._altered = self._dialect.altered
        self._unread: set[str] = set()

    @property
    def begun(self) -> bool:
        """Whether RUN_STARTED is out: from then on an error is an event, no HTTP status."""
        return self._begun

    def begin(self) -> None:
        """Send RUN_STARTED, once."""
        if not self._begun:
            self._begun = True
            version = self._dialect.version
            self.pipe.write(encode(run_started(self._thread_id, self._run_id, version)))

    def send(self, event: WireEvent) -> None:
        """Send a content event."""
        self._openings.note(event)
        if event["type"] == "STATE_SNAPSHOT":
            self._null = event["snapshot"] is None
        if event["type"] in self._altered:
            for each in (self, *self.followers):
                each._tell(event)
        else:
            self.pipe.write(chunk := encode(event))
            self.relay(chunk)

    def send_question(self, event: WireEvent) -> None:
        """Send an event of the message that says a question, to clients that need it."""
        if self._dialect.asks_apart:
            for follower in self.followers:
                follower._tell(event)
        else:
            self.send(event)

    def _tell(self, event: WireEvent) -> None:
        """Write a content event to this stream's own pipe, as its client can read it."""
        if (told := self._dialect.content(event, self._left_out)) is not None:
            self.pipe.write(encode(told))

    def _left_out(self, what: str) -> None:
        """Say in the log, once a stream, what its client can't read."""
        if what not in self._unread:
            self._unread.add(what)
            logger.warning("run %.80r: the client is too old for %s, left out", self._run_id, what)

    def relay(self, chunk: bytes) -> None:
        """Pass a content event on, as it was written to this stream's own pipe."""
        for follower in self.followers:
            follower.pipe.write(chunk)

    def snapshots(self, state: Json, messages: Iterable[Mapping[str, Json]]) -> None:
        """Send the state and the conversation whole."""
        self.send(state_snapshot(state, null=self._null))
        self._told = list(messages)
        for follower in self.followers:
            follower._told = self._told
        self.activities |= activity_types(self._told)
        self.send(messages_snapshot(self._told, self.activities))

    def finish(
        self,
        outcome: Mapping[str, Json],
        *,
        result: Json = None,
        usage: Iterable[Any] = (),
        asks: Sequence[Interrupt] = (),
    ) -> None:
        """Send RUN_FINISHED, in the client's dialect.

        Args:
            outcome: of the run, or that the thread has now.
            result: of the run.
            usage: of the run.
            asks: the questions of the outcome; each reader is told those that are theirs.
        """
        told = self._own_part(outcome, asks)
        event = run_finished(self._thread_id, self._run_id, told, result=result, usage=list(usage))
        self.terminal = event
        self._tell_outcome(event)
        for follower in self.followers:
            follower.finish(outcome, result=result, usage=usage, asks=asks)

    def fail(self, code: str, message: str | None = None, *, usage: Iterable[Any] = ()) -> None:
        """Send RUN_ERROR with a code of `errors.CODES`; by default with the code's own cause."""
        event = run_error(code, message or CODES[code].cause, usage=list(usage))
        self.terminal = event
        self.pipe.write(encode(event))
        for follower in self.followers:
            follower.fail(code, message, usage=usage)

    def refuse(
        self,
        outcome: Mapping[str, Json],
        code: str,
        message: str | None,
        state: Json,
        messages: Sequence[Mapping[str, Json]],
        asks: Sequence[Interrupt] = (),
    ) -> None:
        """Tell where the thread stands, and why nothing came of the input.

        Args:
            outcome: that the thread has now.
            code: of `errors.CODES`.
            message: by default the code's own cause.
            state: the shared state.
            messages: the conversation.
            asks: the questions of the outcome.
        """
        everyone = (self, *self.followers)
        for each in everyone:
            if each._asks_anew(outcome):
                each._say_nothing(messages)
        self.snapshots(state, messages)
        for each in everyone:
            own = each._own_part(outcome, asks)
            each._end_refused(own, code, message or CODES[code].cause)

    def _asks_anew(self, outcome: Mapping[str, Json]) -> bool:
        """Whether the open questions are told in place of an error."""
        return (
            self._refused_as == "ask" and self._dialect.restates and outcome["type"] == "interrupt"
        )

    def _say_nothing(self, messages: Sequence[Mapping[str, Json]]) -> None:
        """Send a message without words where one is needed; the snapshot after it has it not."""
        if self._dialect.hangs_questions and messages and messages[-1]["role"] != "user":
            for event in empty_message(secrets.token_urlsafe(16)):
                self.pipe.write(encode(event))

    def _end_refused(self, outcome: Mapping[str, Json], code: str, message: str) -> None:
        """Send the end of an input that nothing came of, once the snapshots are out."""
        self.terminal = error = run_error(code, message)
        if self._asks_anew(outcome):
            self.pipe.write(encode(refused_event(code, message)))
            again = refused_outcome(outcome, code, message)
            self._tell_outcome(run_finished(self._thread_id, self._run_id, again))
            return
        if self._dialect.restates:
            self._tell_outcome(run_finished(self._thread_id, self._run_id, outcome))
        self.pipe.write(encode(error))

    def _own_part(
        self, outcome: Mapping[str, Json], asks: Sequence[Interrupt]
    ) -> Mapping[str, Json]:
        """An outcome with the questions that are this reader's to answer, or all if none is."""
        own = {ask.id: ask for ask in told_to(asks, self._principal)}
        if self._words is None and len(own) == len(asks):
            return outcome
        told = [i for i in outcome.get("interrupts", ()) if i["id"] in own]
        if self._words is not None:
            told = [self._words(i, own[i["id"]]) for i in told]
        return {**outcome, "interrupts": told} if asks else outcome

    def _tell_outcome(self, finished: WireEvent) -> None:
        for each in self._dialect.outgoing(finished, self._call_of):
            self.pipe.write(encode(each))

    def _call_of(self, call_id: str) -> dict[str, Any] | None:
        """A tool call as the last snapshot told it, for dialects that name it in the question."""
        return proposal_of(self._told, call_id)

    def restate(
        self,
        loaded: Loaded,
        outcome: Mapping[str, Json] | None = None,
        answered: Sequence[str] | None = None,
        *,
        kept: KeptReason | None = None,
    ) -> None:
        """Tell where the thread stands: snapshots and its present outcome; nothing is run.

        Snapshots rather than deltas, because deltas would append to what the client has. A
        thread that does not exist (or is another scope's) has no snapshots.

        Args:
            loaded: the thread, with its messages.
            outcome: by default the one that it has now.
            answered: ids of the interrupts whose answers are told of again: with the newest run's
                result only if they are what it carried out. None: of the thread, with it.
            kept: why nothing was taken back, where the client's list ends early.
        """
        self.begin()
        now = outcome if outcome is not None else outcome_now(loaded)
        if loaded.record is not None:
            messages = [m.message for m in loaded.messages]
            # After a vote the question is asked again, as it is after a refusal.
            if self._asks_anew(now):
                self._say_nothing(messages)
            self.snapshots(loaded.record.state, messages)
        for event in told_kept(kept):
            self.send(event)
        result = loaded.result if answered is None else loaded.result_of(answered)
        self.finish(now, result=result, asks=loaded.waiting)

    def reject(self, loaded: Loaded, code: str, message: str) -> None:
        """Refuse an input, with where the thread stands, as `restate`; not beside a run."""
        self.begin()
        if code == "RUN_IN_PROGRESS" and not self._answers:
            self.fail(code, message)
        elif loaded.record is None or not self._dialect.restates:
            self._end_refused(outcome_now(loaded), code, message)
        else:
            messages = [m.message for m in loaded.messages]
            outcome, state = outcome_now(loaded), loaded.record.state
            self.refuse(outcome, code, message, state, messages, loaded.waiting)

    # --- those that follow it ---

    def let_follow(
        self, follower: EventStream, state: Json, messages: Iterable[Mapping[str, Json]]
    ) -> None:
        """Let another stream follow this one, from now on.

        Args:
            follower: is told where the run is, then all that this stream is told.
            state: the shared state as this stream has told it.
            messages: the conversation as this stream has told it.
        """
        shown, events = self._openings.catch_up(messages)
        follower.begin()
        follower.snapshots(state, shown)
        for event in events:
            follower.send(event)
        self.followers.append(follower)
        self._altered |= follower._altered

    async def drained(self) -> None:
        """Wait until every reader has room, or has gone, or the run is released.

        A follower that takes nothing for `FOLLOWER_PATIENCE` is let go: it can come back.
        """
        await self.pipe.drained()
        for follower in tuple(self.followers):
            try:
                async with asyncio.timeout(FOLLOWER_PATIENCE):
                    await follower.pipe.drained()
            except TimeoutError:
                follower.pipe.detach()

    def release(self) -> None:
        """Hold the run back no longer: it is about to end, and must not wait for a reader."""
        self.pipe.release()
        for follower in self.followers:
            follower.pipe.release()


# --- what a client is told when carrying out its input fails in the bridge itself ---


@contextmanager
def failures_told(stream: EventStream) -> Iterator[None]:
    """Tell failures on a stream that has begun, else to who reads the pipe; then close the pipe.

    Raises:
        asyncio.CancelledError: passed on, once it is told.
    """
    try:
        yield
    except (Refused, StoreUnavailable) as error:
        if stream.begun:
            stream.fail(error.code if isinstance(error, Refused) else "STORE_UNAVAILABLE")
        else:
            stream.pipe.fail(error)
    except asyncio.CancelledError:
        # The server shuts down, and this one would have waited longer than it may.
        if stream.begun and stream.terminal is None:
            stream.fail("SHUTTING_DOWN")
        raise
    except Exception as error:
        logger.exception("the bridge itself failed")
        if stream.begun:
            stream.fail("INTERNAL_ERROR")
        else:
            stream.pipe.fail(error)
    finally:
        stream.pipe.close()
