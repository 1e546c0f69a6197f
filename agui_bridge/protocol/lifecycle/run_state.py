"""What one run has open, and who owns it: what the order of its events depends on."""

from dataclasses import dataclass, field

__all__ = ["Call", "Lane", "Owner", "RunState", "Stream", "Subagent"]

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
