"""The names on OpenTelemetry: every span, metric and attribute, as tables.

`agui_bridge.otel` makes its instruments from them, and docs/observability.md shows them. Names
with `gen_ai`, `db` and `error` are those of OpenTelemetry's semantic conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
RUN_ID: Final = "agui.run.id"
DECISION: Final = "agui.decision"
OUTCOME: Final = "agui.outcome"
ENDING: Final = "agui.ending"
STATUS: Final = "agui.interrupt.status"
STOP_STATUS: Final = "agui.stop.status"
STORE: Final = "agui.store"
OPERATION: Final = "db.operation.name"
ERROR: Final = "error.type"
CHANNEL: Final = "agui.channel"
EVENT: Final = "agui.channel.event"
DELIVERY: Final = "agui.delivery.outcome"

ATTRIBUTES: Final[Mapping[str, str]] = {
    AGENT: "the agent's name",
    CONVERSATION: "the thread's id; on spans alone",
    RUN_ID: "the run's id as the client chose it; on spans alone",
    DECISION: "what admission decided: `start`, `resume`, `wake`, `hold`, `replay`, `join`, "
    "`ask_again`, `keep`, `recover`, `take_up` or `reject`",
    OUTCOME: "what the client was told: `success`, `interrupt`, `cancelled`, `error`; `refused` "
    "when nothing was run, `disconnected` when the client left before anything was decided",
    ENDING: "how the run ended inside: `finished`, `stopped`, `failed`, `undelivered` (nothing "
    "reached the framework, the questions stand) or `lost`",
    STATUS: "`resolved`, `cancelled`, `expired`, `indeterminate`, or `deleted` with its thread",
    STOP_STATUS: "`success` or `error`",
    STORE: "the store's class",
    OPERATION: "the method of the store",
    ERROR: "a code of the error table; of stores and adapters the exception's class",
    CHANNEL: "the channel's name",
    EVENT: "what was told: `opened`, `reminded`, `escalated`, `answered`, `expired` or `cancelled`",
    DELIVERY: "`sent`, `retried`, `dropped` because it is not to be told any more, or `dead`",
}
"""What each attribute says."""


@dataclass(frozen=True, slots=True)
class Span:
    """One kind of span.

    Attributes:
        parent: the span that it stands under.
        attributes: those that it may carry.
        about: what it spans.
    """

    parent: str
    attributes: tuple[str, ...]
    about: str


SPANS: Final[Mapping[str, Span]] = {
    "agui.run {agent}": Span(
        "the caller's",
        (AGENT, CONVERSATION, RUN_ID, DECISION, OUTCOME, ENDING, ERROR),
        "One input, from its arrival to its last event, also when it is refused or only replayed. "
        "A resumed run links to the run that asked.",
    ),
    "agui.adapter {agent}": Span(
        "`agui.run`",
        (AGENT, CONVERSATION, RUN_ID, ERROR),
        "The adapter's work; spans of the framework stand under it.",
    ),
    "agui.stop {agent}": Span(
        "the caller's",
        (AGENT, CONVERSATION, STOP_STATUS),
        "A stop, until the run is over.",
    ),
    "store.{operation}": Span(
        "whatever asked",
        (STORE, OPERATION, ERROR),
        "One operation of the store. What nobody asked for (sweeping, polling) has no span.",
    ),
}
"""Every span by its name."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One instrument.

    Attributes:
        kind: what it is.
        unit: in UCUM, as OpenTelemetry wants it.
        attributes: those that its points carry.
        about: what it measures.
        buckets: boundaries of a histogram.
    """

    kind: Literal["counter", "histogram", "observable up-down counter"]
    unit: str
    attributes: tuple[str, ...]
    about: str
    buckets: tuple[float, ...] = ()


_RUN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_FIRST_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STORE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

METRICS: Final[Mapping[str, Metric]] = {
    "agui.decisions": Metric(
        "counter", "{decision}", (AGENT, DECISION), "Decisions of admission, replays and joins too."
    ),
    "agui.claims.lost": Metric(
        "counter",
        "{claim}",
        (AGENT, DECISION),
        "Decisions that somebody else's commit overtook; they were made anew.",
    ),
    "agui.refusals": Metric(
        "counter", "{refusal}", (AGENT, ERROR), "Inputs for which nothing was run, by code."
    ),
    "agui.http.refusals": Metric(
        "counter", "{refusal}", (ERROR,), "Requests answered with an error body, by code."
    ),
    "agui.runs": Metric(
        "counter", "{run}", (AGENT, OUTCOME, ENDING, ERROR), "Runs that ended in this process."
    ),
    "agui.runs.lost": Metric(
        "counter",
        "{run}",
        (AGENT,),
        "Runs of vanished processes, counted by the process that found them.",
    ),
    "agui.runs.active": Metric(
        "observable up-down counter", "{run}", (AGENT,), "Runs of this process that are running."
    ),
    "agui.run.duration": Metric(
        "histogram",
        "s",
        (AGENT, OUTCOME, ENDING, ERROR),
        "From an input's arrival to its run's last event.",
        _RUN_SECONDS,
    ),
    "agui.run.time_to_first_event": Metric(
        "histogram",
        "s",
        (AGENT,),
        "From an input's arrival to the adapter's first item.",
        _FIRST_SECONDS,
    ),
    "agui.stops": Metric("counter", "{stop}", (AGENT, STOP_STATUS), "Stops that were asked for."),
    "agui.interrupts.raised": Metric(
        "counter", "{interrupt}", (AGENT,), "Interrupts that were stored."
    ),
    "agui.interrupts.closed": Metric(
        "counter", "{interrupt}", (AGENT, STATUS), "Interrupts that were closed, by how."
    ),
    "agui.deliveries": Metric(
        "counter",
        "{delivery}",
        (CHANNEL, EVENT, DELIVERY),
        "Notices to channels, by what came of it.",
    ),
    "agui.pipe.chunks": Metric(
        "observable up-down counter",
        "{chunk}",
        (AGENT,),
        "Encoded chunks of running runs that wait for a client.",
    ),
    "agui.pipe.bytes": Metric(
        "observable up-down counter",
        "By",
        (AGENT,),
        "Bytes of running runs that wait for a client.",
    ),
    "agui.store.operation.duration": Metric(
        "histogram",
        "s",
        (STORE, OPERATION, ERROR),
        "Operations of the store, those without a span too.",
        _STORE_SECONDS,
    ),
}
"""Every metric by its name."""
