"""What one run has open, and who owns it: what the order of its events depends on."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

# --- which message ids a run has taken, and under which id each of its messages travels ---
#
# To a client a message id means one message: text that arrives under an id it has is
# appended, whatever run, role or subagent that id belonged to. Frameworks are less careful
# (``"0"`` for the first part of every step is common), so an id that is taken is replaced by
# a minted one, and later events that name it are mapped.


class MessageIds:
    """The registry of one run's message ids."""

    def __init__(
        self,
        mint: Callable[[], str],
        known: Collection[str] = (),
        activities: Collection[str] = (),
    ) -> None:
        """Start a registry.

        Args:
            mint: Returns a new, unique id at each call.
            known: The ids of the messages in the thread's history.
            activities: Those of them that are activities, which may be updated.
        """
        self._mint = mint
        self._known = set(known)
        self._activities = set(activities)
        self._owners: dict[str, tuple[str, str | None]] = {}
        self._travels_as: dict[tuple[str, str], str] = {}
        self._unspoken: set[str] = set()
        self._spans: dict[str, str | None] = {}

    def take(self, kind: str, named: str, owner: str | None, *, role: str = "") -> str:
        """Take an id for a new message, or span, and return the id it travels under.

        Text is taken to be the assistant's, who alone can call tools, but for its ``role``.
        """
        if kind == "span":
            return self._take_span(named, owner)
        by_assistant = kind == "text" and role in ("", "assistant")
        if by_assistant and named in self._unspoken and self.owner(named) == owner:
            # A tool call came first and made the client create this message.
            self._unspoken.discard(named)
            return named
        clashes = kind == "reasoning" and self._spans.get(named, owner) != owner
        known = named in self._known and not (kind == "activity" and named in self._activities)
        taken = known or named in self._owners or clashes
        wire_id = self._mint() if taken or not named else named
        self._owners[wire_id] = ("text" if by_assistant else role or kind, owner)
        self._travels_as[kind, named] = wire_id
        return wire_id

    def _take_span(self, named: str, owner: str | None) -> str:
        # A span is no message: it may share its id with one, and be opened again. But the
        # official client wants one owner for all reasoning under an id.
        _, holder = self._owners.get(named, ("", owner))
        free = named and holder == owner and self._spans.get(named, owner) == owner
        wire_id = named if free else self._mint()
        self._spans[wire_id] = owner
        return wire_id

    def parent(self, named: str | None, owner: str | None) -> str | None:
        """Return the id of the assistant message that a tool call names as its parent.

        An id that nothing has yet becomes an assistant message without text. None when
        the name is missing, or of a message that can't carry this call: one of an earlier
        run, of another owner, or of another kind.
        """
        if not named:
            return None
        wire_id = self._travels_as.get(("text", named), named)
        if wire_id in self._owners:
            return wire_id if self._owners[wire_id] == ("text", owner) else None
        return None if wire_id in self._known else self.create_parent(wire_id, owner)

    def create_parent(self, wire_id: str, owner: str | None) -> str:
        """Take an id for the message that a client will create for a tool call."""
        self._owners[wire_id] = ("text", owner)
        self._unspoken.add(wire_id)
        return wire_id

    def owner(self, wire_id: str) -> str | None:
        """Return the subagent that a message of this run belongs to."""
        return self._owners.get(wire_id, ("", None))[1]

    def find(self, named: str, kinds: Sequence[str] = ("text", "reasoning")) -> str:
        """Return the id under which a message of some kinds travels."""
        for kind in kinds:
            if (wire_id := self._travels_as.get((kind, named))) is not None:
                return wire_id
        return named

    def know(self, message_id: str, role: str, owner: str | None) -> None:
        """Take in a message that a snapshot has brought, or replaced."""
        if message_id in self._owners:
            self._owners[message_id] = ("text" if role == "assistant" else role, owner)
        else:
            self._known.add(message_id)
            if role == "activity":
                self._activities.add(message_id)


Owner = str | None
"""The subagentRunId of what an event belongs to; None is the run itself."""

Lane = tuple[str, str]
"""The kind and id of what an owner's chunks, or plain text, are streamed into."""


@dataclass(slots=True)
class Stream:
    """An open text message, reasoning message or reasoning span."""

    wire_id: str
    owner: Owner
    role: str
    supplied: bool = False
    """A span that no adapter opened: it ends with its message."""


@dataclass(slots=True)
class Call:
    """A tool call that this run started."""

    id: str
    name: str
    owner: Owner
    parts: list[str] = field(default_factory=list)
    open: bool = True
    repeated: bool = False
    """It was started again after its end: the repetition is not passed on."""


@dataclass(slots=True)
class Subagent:
    """A subagent's invocation."""

    parent: Owner
    open: bool = True
    suspended: bool = False


@dataclass(slots=True)
class RunState:
    """All that the order of one run's events depends on."""

    known_calls: set[str]
    """Calls in the thread's history, whose repetition is not passed on."""
    settled: set[str]
    """Calls that have a result, from the history or from this run."""
    relayed: bool = False
    """Whether events may name subagents that were never announced."""
    streams: dict[str, dict[str, Stream]] = field(
        default_factory=lambda: {"text": {}, "reasoning": {}, "span": {}}
    )
    """What is open, by kind and by the id that the adapter uses."""
    calls: dict[str, Call] = field(default_factory=dict)
    steps: dict[tuple[Owner, str], None] = field(default_factory=dict)
    subagents: dict[str, Subagent] = field(default_factory=dict)
    activities: dict[str, Owner] = field(default_factory=dict)
    lanes: dict[Owner, Lane] = field(default_factory=dict)
    turns: dict[Owner, str] = field(default_factory=dict)
    """The assistant message that the next tool call of an owner belongs to."""

    def speaking(self) -> Stream | None:
        """Return the message that plain text goes to: the run's own, latest, still open."""
        if (lane := self.lanes.get(None)) is not None:
            candidates = [self.streams["text"].get(lane[1])] if lane[0] == "text" else []
        else:
            candidates = [*reversed(self.streams["text"].values())]
        for stream in candidates:
            if stream is not None and stream.owner is None and stream.role == "assistant":
                return stream
        return None

    def is_active(self, owner: Owner) -> bool:
        """Tell whether a subagent was started in this run and has not closed."""
        return owner in self.subagents and self.subagents[owner].open

    def may_speak(self, owner: Owner) -> bool:
        """Tell whether events may name a subagent."""
        return self.relayed or self.is_active(owner)
