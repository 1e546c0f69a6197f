"""The rules of a stream as data: what each asks for, and what a relay does where it is broken.

The order of one run's events is the specification's; that a consumer refuses a stream which breaks
it is the reference client's, `@ag-ui/client` 1.0.0, whose reasons these are.

Source: AG-UI 1.1, lifecycle, streaming, subagents, processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from agui_bridge.frozen import dataclass

__all__ = ["STREAM_RULES", "Fault", "Remedy", "StreamRule"]

Remedy: TypeAlias = Literal["drop", "keep", "supply", "refuse"]
"""What `repair` makes of an event that breaks a rule.

`drop` leaves it out, `keep` takes it as it is meant, `supply` tells first what is missing. `refuse`
is for what nobody can guess: who said it, which call it belongs to, what would be carried out.
"""


@dataclass(frozen=True, slots=True)
class StreamRule:
    """What is asked of a stream.

    Attributes:
        says: the rule, as a sentence.
        remedy: for an event that breaks it.
    """

    says: str
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class Fault:
    """One break of a rule.

    Attributes:
        rule: a key of STREAM_RULES.
        message: what is wrong, with the event's type and ids.
    """

    rule: str
    message: str


STREAM_RULES: Final[Mapping[str, StreamRule]] = MappingProxyType(
    {
        "shape": StreamRule("A member that AG-UI has holds what AG-UI says.", "refuse"),
        "run.first": StreamRule("A stream begins with RUN_STARTED or RUN_ERROR.", "keep"),
        "run.nested": StreamRule("A run begins when the one before it has ended.", "keep"),
        "run.finished": StreamRule(
            "After RUN_FINISHED comes a new run, a late RUN_ERROR, or nothing.", "drop"
        ),
        "run.failed": StreamRule("After RUN_ERROR comes a new run, or nothing.", "drop"),
        "run.open": StreamRule("A run finishes when all that it opened is closed.", "supply"),
        "run.unended": StreamRule("A stream ends with the end of its run.", "refuse"),
        "start.twice": StreamRule("What is open is not opened again.", "drop"),
        "content.unopened": StreamRule("Content belongs to a message that is open.", "supply"),
        "arguments.unopened": StreamRule("Arguments belong to a call that is open.", "refuse"),
        "end.unopened": StreamRule("What is closed was open.", "drop"),
        "step.twice": StreamRule("A step of an owner's begins once before it ends.", "drop"),
        "step.unstarted": StreamRule("A step is finished by who started it.", "drop"),
        "owner": StreamRule("What somebody opened nobody else goes on with.", "refuse"),
        "subagent.twice": StreamRule("The id of a sub-agent's run is used once in a run.", "drop"),
        "subagent.unstarted": StreamRule("A sub-agent that ends was announced.", "drop"),
        "subagent.parent": StreamRule("A sub-agent's parent was announced before it.", "keep"),
        "chunk.unnamed": StreamRule("The first chunk of a message names it.", "supply"),
        "chunk.call": StreamRule("The first chunk of a call names call and tool.", "refuse"),
        "chunk.ambiguous": StreamRule("A chunk without id or owner can mean one thing.", "refuse"),
        "chunk.differs": StreamRule("A chunk says nothing else than the first one did.", "keep"),
        "chunk.tool": StreamRule("A chunk names no other tool than the first one did.", "refuse"),
    }
)
