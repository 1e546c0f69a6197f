"""One run of a keyword agent: what the agent inside is given, and what of it is let through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from ag_ui.core import (
    BaseEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)

from agui_bridge.adapters import Handoff, HandoffResults, Pause, Resume, Run
from agui_bridge.agents.keyword.phrases import REPLIES, Replies, agrees
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import FoundRequest, SentenceScanner
from agui_bridge.errors import ReplayMismatch
from agui_bridge.protocol.answers.decisions import Approve, Cancel
from agui_bridge.protocol.answers.forms import FormField, Language
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, Verb
from agui_bridge.protocol.threads.records import ClosedBatch, Json

# --- what a keyword agent's pauses keep: its own request, or what the agent inside wants back ---

_MARK = "agui_bridge_keyword"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Requested:
    """A pause of the keyword agent's own.

    Attributes:
        language: of the request.
        fields: the form as it was asked: by the time of the answer it may be configured otherwise.
        held_after: the agent's story (`Listener.story`) when something was held back, if it was.
    """

    language: Language
    fields: tuple[FormField, ...]
    held_after: str | None = None

    def pack(self) -> Json:
        """The continuation."""
        fields = [field.to_json() for field in self.fields]
        requested = {"language": self.language, "fields": fields, "held_after": self.held_after}
        return {_MARK: _VERSION, "requested": requested}


@dataclass(frozen=True, slots=True)
class Inner:
    """A pause, or a handoff, of the agent inside.

    Attributes:
        continuation: exactly what it gave.
        calls: the tool calls that it asks about, by native id.
        agreed: the story after which a person has agreed that the agent goes on, if it is not used.
    """

    continuation: Json
    calls: Mapping[str, str]
    agreed: str | None = None

    def pack(self) -> Json:
        """The continuation."""
        kept = {"inner": self.continuation, "calls": dict(self.calls), "agreed": self.agreed}
        return {_MARK: _VERSION, **kept}


def open_envelope(continuation: Json) -> Requested | Inner:
    """Read a continuation.

    One without a mark is the agent's own: from before it became a keyword agent.

    Raises:
        ReplayMismatch: another version wrote it.
    """
    if not isinstance(continuation, Mapping) or _MARK not in continuation:
        return Inner(continuation, {})
    if continuation[_MARK] != _VERSION:
        raise ReplayMismatch("The continuation is of another version of the keyword agent.")
    if "inner" in continuation:
        return Inner(continuation["inner"], continuation["calls"], continuation.get("agreed"))
    requested = continuation["requested"]
    fields: Sequence[Mapping[str, Json]] = requested["fields"]
    form = tuple(FormField.from_json(field) for field in fields)
    return Requested(requested["language"], form, requested.get("held_after"))


# --- listens to what an agent says: finds out which text belongs to which message, and scans it ---
#
# Only what the agent itself says to the user is scanned: no reasoning, no tool's arguments and
# results, no message of another role, and no text of a sub-agent, which talks to its agent.

_ACT = b"\xff"
"""Stands among what was said for something that was carried out: no text has this byte."""


class Listener:
    """Scans the text of one run.

    Text without a message of its own (plain str, chunks) goes on with the open message, or with
    what came before it; a tool call, a step, reasoning or another message between is its end,
    while changes of the state and the like are not. A tool call ends the sentence of an open
    message too: what follows it is said anew.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing said."""
        self._table = table
        self._open: dict[str, SentenceScanner] = {}
        self._foreign: set[str] = set()
        self._implicit: SentenceScanner | None = None
        self._chunks: str | None = None
        self._found: list[FoundRequest] = []
        self._story = sha256()

    @property
    def holding(self) -> bool:
        """Whether nothing may be carried out now."""
        if self._found or any(scanner.holding for scanner in self._open.values()):
            return True
        return self._implicit is not None and self._implicit.holding

    @property
    def story(self) -> str:
        """A digest of what the agent has said and begun, in its order, but not in which pieces."""
        return self._story.hexdigest()

    def hear_act(self) -> None:
        """Take that the agent carries something out."""
        self._story.update(_ACT)

    def forget(self) -> None:
        """What was found so far holds no more: it was answered."""
        self._found, self._implicit = [], None
        self._open = {message_id: SentenceScanner(self._table) for message_id in self._open}

    def finish(self) -> list[FoundRequest]:
        """All that was found, once the agent has ended."""
        self._end_implicit()
        for message_id in list(self._open):
            self._end(message_id)
        return self._found

    def hear(self, item: BaseEvent | str) -> None:
        """Take what the agent emitted."""
        match item:
            case str():
                self._feed(self._speaking(), item)
            case TextMessageContentEvent():
                self._content(item)
            case TextMessageStartEvent():
                self._start(item.message_id, item.subagent_run_id, item.role)
            case TextMessageEndEvent():
                self._end(item.message_id)
            case TextMessageChunkEvent():
                self._chunk(item)
            case BaseEvent():
                kind = str(getattr(item.type, "value", item.type))
                rule = EVENT_RULES.get(kind)
                own = getattr(item, "subagent_run_id", None) is None
                if rule is not None and own and rule.verb in ("open", "close", "chunk"):
                    self._end_implicit()
                    if rule.kind == "call" and rule.verb != "close":
                        for scanner in self._open.values():
                            scanner.end()

    def _speaking(self) -> SentenceScanner:
        if self._implicit is None:
            for scanner in reversed(self._open.values()):
                return scanner
            self._implicit = SentenceScanner(self._table)
        return self._implicit

    def _start(self, message_id: str, owner: str | None, role: str | None) -> None:
        if owner is None:
            self._end_implicit()
        if owner is not None or role not in (None, "assistant"):
            self._foreign.add(message_id)
        elif message_id not in self._open:
            self._foreign.discard(message_id)
            self._open[message_id] = SentenceScanner(self._table)

    def _content(self, event: TextMessageContentEvent) -> None:
        message_id = event.message_id
        if message_id in self._foreign:
            return
        if message_id not in self._open:
            self._start(message_id, event.subagent_run_id, None)
        if message_id in self._open:
            self._feed(self._open[message_id], event.delta)

    def _chunk(self, event: TextMessageChunkEvent) -> None:
        if event.subagent_run_id is not None or event.role not in (None, "assistant"):
            return
        if event.message_id in self._open:
            self._feed(self._open[event.message_id], event.delta or "")
            return
        if event.message_id in self._foreign:
            return
        if event.message_id is not None and event.message_id != self._chunks:
            self._end_implicit()
            self._chunks = event.message_id
        if self._implicit is None:
            self._implicit = SentenceScanner(self._table)
        self._feed(self._implicit, event.delta or "")

    def _feed(self, scanner: SentenceScanner, text: str) -> None:
        self._story.update(text.encode(errors="surrogatepass"))
        scanner.feed(text)

    def _end(self, message_id: str) -> None:
        self._foreign.discard(message_id)
        scanner = self._open.pop(message_id, None)
        if scanner is not None:
            self._close(scanner)

    def _end_implicit(self) -> None:
        scanner, self._implicit, self._chunks = self._implicit, None, None
        if scanner is not None:
            self._close(scanner)

    def _close(self, scanner: SentenceScanner) -> None:
        scanner.end()
        self._found += scanner.found


# --- the turn ---

_UNSETTLED = "The run paused for a confirmation; no result of this tool call is known."
_NOT_BEGUN = (
    "The agent asked for another confirmation before it carried this tool call out; it was not "
    "executed."
)
_SPEECH = ("text", "reasoning", "span")


class Turn:
    """One run.

    Args:
        run: the run, as the engine gave it.
        table: the phrases.
        replies: what the agent is told; None takes those of the request's language.

    Attributes:
        inner: the run that the agent inside sees.
        listener: what the agent has said.

    Raises:
        ReplayMismatch: the continuation is of another version.
    """

    def __init__(self, run: Run, table: PhraseTable, replies: Replies | None) -> None:
        """Prepare the run of the agent inside."""
        self._run = run
        self._replies = replies
        self.listener: Listener = Listener(table)
        self._holding = False
        self._held_after: str | None = None
        # What the agent had said when a person agreed: it may say the same, and go on from there.
        self._agreed: str | None = None
        self._calls: dict[str, str] = {}
        self._settled: set[str] = set()
        self._held: set[str] = set()
        self._gated: set[str] = set()
        self._frontend = {tool.name for tool in run.tools}
        self._answer: tuple[str, str] | None = None
        self.inner: Run = self._inner()
        # What is not reported is not known.
        run.memo = None

    # --- what goes in ---

    def _inner(self) -> Run:
        run, messages, new = self._run, list(self._run.raw_messages), self._run.raw_new_messages
        closed: list[ClosedBatch] = []
        notes: list[str] = []
        for batch in run.closed:
            past = open_envelope(batch.continuation)
            if isinstance(past, Requested):
                notes.append(self._note(past, batch))
            else:
                closed.append(replace(batch, continuation=past.continuation))
        added: list[Mapping[str, Json]] = [_user_message(run.mint(), note) for note in notes]
        ids = {message["id"] for message in new}
        place = next((n for n, m in enumerate(messages) if m["id"] in ids), len(messages))
        messages[place:place] = added
        added += new
        resume = run.resume
        if resume is not None:
            past = open_envelope(resume.continuation)
            if isinstance(past, Requested):
                self._answer = (run.mint(), self._reply(past, resume))
                self._agreed = self._agreed_by(past, resume)
                message = _user_message(*self._answer)
                messages.append(message)
                added.append(message)
                resume = None
            else:
                resume = replace(resume, continuation=past.continuation)
                self._agreed = past.agreed
                self._gated = {
                    past.calls[native_id]
                    for native_id, decision in resume.decisions.items()
                    if isinstance(decision, Approve) and native_id in past.calls
                }
        handoff = run.handoff
        if handoff is not None:
            past = open_envelope(handoff.continuation)
            # A request hands nothing off.
            inner = None
            if isinstance(past, Inner):
                inner, self._agreed = past.continuation, past.agreed
            handoff = HandoffResults(inner, handoff.results)
        return replace(
            run,
            stop=run.stop.child(),
            resume=resume,
            handoff=handoff,
            closed=tuple(closed),
            raw_messages=messages,
            raw_new_messages=added,
            before_act=self._before_act,
            # The engine may replace the run's own one while the run goes on.
            check_lease=lambda: run.check_lease(),
            check_stop=lambda: run.check_stop(),
        )

    def _words(self, past: Requested) -> Replies:
        return self._replies or REPLIES[past.language]

    def _reply(self, past: Requested, resume: Resume) -> str:
        (decision,) = resume.decisions.values()
        return self._words(past).to_decision(decision, past.fields)

    def _agreed_by(self, past: Requested, resume: Resume) -> str | None:
        (decision,) = resume.decisions.values()
        return past.held_after if agrees(decision, past.fields) else None

    def _note(self, past: Requested, batch: ClosedBatch) -> str:
        words = self._words(past)
        if batch.cause == "lost":
            return words.lost
        cause = Cancel("expired" if batch.cause == "expired" else "cancelled")
        return words.to_decision(cause, past.fields)

    # --- what comes out ---

    def take_answer(self) -> Sequence[BaseEvent]:
        """The events of the answer's message, once."""
        if self._answer is None:
            return ()
        (message_id, text), self._answer = self._answer, None
        return (
            TextMessageStartEvent(message_id=message_id, role="user"),
            TextMessageContentEvent(message_id=message_id, delta=text),
            TextMessageEndEvent(message_id=message_id),
        )

    def lets_through(self, item: BaseEvent | str) -> bool:
        """Whether an item goes out; one that begins an act after a request begins the hold."""
        self.report()
        passes = self._passes(item)
        if passes and not self._holding:
            self.listener.hear(item)
        return passes

    def _passes(self, item: BaseEvent | str) -> bool:
        if isinstance(item, str):
            return not self._holding
        kind = getattr(item, "type", None)
        rule = EVENT_RULES.get(str(getattr(kind, "value", kind)))
        if rule is None:
            return True  # The engine says what is wrong with it.
        owner: str | None = getattr(item, "subagent_run_id", None)
        call: str | None = getattr(item, "tool_call_id", None)
        if call in self._held or owner in self._held:
            return False
        if rule.kind == "call":
            return self._passes_call(item, rule.verb, call)
        if rule.kind == "subagent" and rule.verb == "open":
            return not self._holds_back(owner)
        return not (self._holding and rule.kind in _SPEECH and rule.verb != "close")

    def _passes_call(self, item: BaseEvent, verb: Verb, call: str | None) -> bool:
        if verb == "settle" and call is not None:
            self._settled.add(call)
        if verb not in ("open", "chunk") or call in self._calls:
            return True
        name: str | None = getattr(item, "tool_call_name", None)
        if call is None and name is None:
            return not self._holding  # A chunk of the call that the last one was of.
        if self._holds_back(call):
            return False
        if call is not None:
            self._calls[call] = name or ""
        return True

    def _holds_back(self, begun: str | None) -> bool:
        """Whether what begins now is not let through: a request stands before it."""
        if self._may_act():
            return False
        if begun is not None:
            self._held.add(begun)
        return True

    def is_held_back(self, item: Pause | Handoff) -> bool:
        """Whether the agent's own end waits for a frontend call that was not let through."""
        waits = item.frontend_calls if isinstance(item, Pause) else item.tool_call_ids
        return not self._held.isdisjoint(waits)

    def report(self) -> None:
        """Hand on what the agent inside reported beside its items."""
        self._run.result, self._run.usage = self.inner.result, self.inner.usage
        self._run.iteration = self.inner.iteration
        self._run.not_begun = self.inner.not_begun
        self._run.end_reason = self.inner.end_reason
        self._run.memo = self.inner.memo

    # --- the end ---

    def wrapped(self, item: Pause | Handoff) -> Pause | Handoff:
        """A pause or handoff of the agent's own, so that what comes of it finds its way back."""
        calls: dict[str, str] = {}
        if isinstance(item, Pause):
            calls = {a.native_id: a.tool_call.id for a in item.asks if a.tool_call is not None}
        return replace(item, continuation=Inner(item.continuation, calls, self._agreed).pack())

    def finish(self) -> tuple[list[FoundRequest], str | None]:
        """What to ask, and the story after which something was held back, if anything was.

        Asked is what has a card. Where none has, and something was held back, it is what held it.
        """
        found = self.listener.finish()
        cards = [each for each in found if each.card]
        return cards or (found if self._holding else []), self._held_after

    @property
    def open_frontend_calls(self) -> list[str]:
        """Calls of this run that the application has to carry out."""
        return [call for call in self._unsettled() if self._calls.get(call) in self._frontend]

    def settle_calls(self) -> Iterator[BaseEvent]:
        """Results for the calls that have none and can get none any more."""
        for call in self._unsettled():
            if self._calls.get(call) not in self._frontend:
                content = _NOT_BEGUN if call in self.inner.not_begun else _UNSETTLED
                yield ToolCallResultEvent(
                    message_id=self._run.mint(), tool_call_id=call, content=content, role="tool"
                )

    def _unsettled(self) -> list[str]:
        return [call for call in (*self._calls, *self._gated) if call not in self._settled]

    def _before_act(self) -> None:
        if self._run.before_act is not None:
            self._run.before_act()
        self._may_act()

    def _may_act(self) -> bool:
        """Whether something may be carried out now; what may not begins the hold."""
        if self._holding:
            return False
        story = self.listener.story
        if self.listener.holding:
            if story != self._agreed:
                self._holding, self._held_after = True, story
                self.inner.stop.request()
                return False
            self.listener.forget()
        self.listener.hear_act()
        return True


def _user_message(message_id: str, text: str) -> dict[str, Json]:
    return {"id": message_id, "role": "user", "content": text}
