"""Every limit in one table: what it guards, where it takes effect, and what exceeding it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import CODES


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit.

    Attributes:
        setting: the field of `Settings` that holds it; the default is the field's.
        unit: what it counts.
        code: the error, a key of `CODES`; None where nothing is refused.
        guards: what it keeps from being used up or broken.
        where: where it takes effect.
        otherwise: what exceeding it gives where nothing is refused.
    """

    setting: str
    unit: str
    code: str | None
    guards: str
    where: str
    otherwise: str = "waiting"

    @property
    def default(self) -> int | float:
        """Its value unless it is set."""
        value: int | float = getattr(Settings(), self.setting)
        return value


LIMITS: Final = (
    Limit(
        "max_body_bytes",
        "bytes",
        "PAYLOAD_TOO_LARGE",
        "memory, before anything is parsed",
        "every request body, while it is read",
    ),
    Limit(
        "max_bytes_per_scope",
        "bytes",
        None,
        "memory, from one of the process's principals",
        "bodies above 64 KiB, by scope and process: one waits until there is room for it, and is "
        "read then; one may be larger",
    ),
    Limit(
        "max_values",
        "values",
        "PAYLOAD_TOO_LARGE",
        "time, in which everybody else would wait",
        "every request body, before it is parsed: its commas and opening brackets outside of texts",
    ),
    Limit(
        "body_timeout",
        "seconds",
        "REQUEST_TIMEOUT",
        "connections, from clients that send their body drop by drop",
        "every request body, while it is read",
    ),
    Limit(
        "max_depth",
        "levels",
        "INVALID_INPUT",
        "the stack of whatever reads the value later",
        "a run's input, the body itself being the first level",
    ),
    Limit(
        "max_messages",
        "messages",
        "PAYLOAD_TOO_LARGE",
        "time to validate and compare them",
        "`messages` of a run's input",
    ),
    Limit(
        "max_members",
        "members",
        "PAYLOAD_TOO_LARGE",
        "time to validate them",
        "`tools`, `context` and `resume` of a run's input, and the parts and tool calls of all its "
        "messages, each",
    ),
    Limit(
        "max_id_bytes",
        "bytes",
        "INVALID_INPUT",
        "the stores, which have these ids as keys",
        "ids of threads, runs, messages and interrupts, in an input or a path",
    ),
    Limit(
        "max_runs_per_scope",
        "requests",
        "TOO_MANY_RUNS",
        "the process, from one of its principals",
        "runs and the inputs that wait for one, by scope and process; stops as many again",
    ),
    Limit(
        "max_interrupts",
        "questions",
        "AGENT_PROTOCOL_ERROR",
        "people and clients, from an agent that asks without end",
        "one pause of an agent, before it is stored; an agent may have its own",
    ),
    Limit(
        "max_thread_bytes",
        "bytes",
        "PAYLOAD_TOO_LARGE",
        "memory, and the time of every look at the thread",
        "what an input adds to a thread, as JSON; where it fits only together with less, the "
        "oldest turns leave the context; an agent may have its own",
    ),
    Limit(
        "max_memo_bytes",
        "bytes",
        None,
        "the store, and the time of every look at the thread",
        "what an agent notes of a thread, as JSON, when its run ends; an agent may have its own",
        otherwise="no note for the next run, and an error in the log",
    ),
    Limit(
        "max_result_bytes",
        "bytes",
        None,
        "the store, and the time of every look at the thread",
        "a run's result, as JSON, when it ends; an agent may have its own",
        otherwise="told once, when the run ends, not kept, and a warning in the log",
    ),
    Limit(
        "max_continuation_bytes",
        "bytes",
        "AGENT_PROTOCOL_ERROR",
        "the store, and the time of every look at the thread",
        "what an adapter keeps for a pause or handoff, as JSON, before anybody is asked; an agent "
        "may have its own",
    ),
    Limit(
        "max_held",
        "questions",
        None,
        "memory, from agents that wait with their questions",
        "one process: its agents that can wait for an answer (`hold_seconds`)",
        otherwise="the oldest waits no longer: it is ended, and its question stays",
    ),
    Limit(
        "pipe_events",
        "events",
        None,
        "memory, from a client that reads slowly",
        "one stream: the agent waits until the client has read on",
    ),
    Limit(
        "pipe_bytes",
        "bytes",
        None,
        "memory, from a client that reads slowly",
        "one stream: the agent waits until the client has read on; one event may be larger",
    ),
)
"""In the order in which a request meets them."""


def render_limits() -> str:
    """The table as Markdown, as docs/security.md has it."""
    lines = [
        "| setting | default | more gives | holds for | guards |",
        "|---|---|---|---|---|",
    ]
    for limit in LIMITS:
        gives = limit.otherwise
        if limit.code is not None:
            entry = CODES[limit.code]
            how = "RUN_ERROR" if entry.stream else str(entry.status)
            gives = f"{how} `{limit.code}`"
        lines.append(
            f"| `{limit.setting}` | {limit.default:,} {limit.unit} | {gives} | {limit.where} "
            f"| {limit.guards} |"
        )
    return "\n".join(lines) + "\n"
