"""Every limit in one table: where it takes effect, and what exceeding it gives."""

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
        where: where it takes effect.
        otherwise: what exceeding it gives where nothing is refused.
    """

    setting: str
    unit: str
    code: str | None
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
        "every request body, while it is read",
    ),
    Limit(
        "max_bytes_per_scope",
        "bytes",
        None,
        "bodies above 64 KiB, by scope and process: one waits until there is room for it, and is "
        "read then; one may be larger",
    ),
    Limit(
        "max_values",
        "values",
        "PAYLOAD_TOO_LARGE",
        "every request body, before it is parsed: its commas and opening brackets outside of texts",
    ),
    Limit(
        "body_timeout",
        "seconds",
        "REQUEST_TIMEOUT",
        "every request body, while it is read",
    ),
    Limit(
        "max_depth",
        "levels",
        "INVALID_INPUT",
        "a run's input, the body itself being the first level",
    ),
    Limit(
        "max_messages",
        "messages",
        "PAYLOAD_TOO_LARGE",
        "`messages` of a run's input",
    ),
    Limit(
        "max_members",
        "members",
        "PAYLOAD_TOO_LARGE",
        "`tools`, `context` and `resume` of a run's input, and the parts and tool calls of all its "
        "messages, each",
    ),
    Limit(
        "max_id_bytes",
        "bytes",
        "INVALID_INPUT",
        "ids of threads, runs, messages and interrupts, in an input or a path",
    ),
    Limit(
        "max_runs_per_scope",
        "requests",
        "TOO_MANY_RUNS",
        "runs and the inputs that wait for one, by scope and process; stops as many again",
    ),
    Limit(
        "max_interrupts",
        "questions",
        "AGENT_PROTOCOL_ERROR",
        "one pause of an agent, before it is stored; an agent may have its own",
    ),
    Limit(
        "max_thread_bytes",
        "bytes",
        "PAYLOAD_TOO_LARGE",
        "what an input adds to a thread, as JSON; where it fits only together with less, the "
        "oldest turns leave the context; an agent may have its own",
    ),
    Limit(
        "max_memo_bytes",
        "bytes",
        None,
        "what an agent notes of a thread, as JSON, when its run ends; an agent may have its own",
        otherwise="no note for the next run, and an error in the log",
    ),
    Limit(
        "max_result_bytes",
        "bytes",
        None,
        "a run's result, as JSON, when it ends; an agent may have its own",
        otherwise="told once, when the run ends, not kept, and a warning in the log",
    ),
    Limit(
        "max_continuation_bytes",
        "bytes",
        "AGENT_PROTOCOL_ERROR",
        "what an adapter keeps for a pause or handoff, as JSON, before anybody is asked; an agent "
        "may have its own",
    ),
    Limit(
        "max_held",
        "questions",
        None,
        "one process: its agents that can wait for an answer (`hold_seconds`)",
        otherwise="the oldest waits no longer: it is ended, and its question stays",
    ),
    Limit(
        "pipe_events",
        "events",
        None,
        "one stream: the agent waits until the client has read on",
    ),
    Limit(
        "pipe_bytes",
        "bytes",
        None,
        "one stream: the agent waits until the client has read on; one event may be larger",
    ),
)
"""In the order in which a request meets them."""


def render_limits() -> str:
    """The table as Markdown, as docs/security.md has it."""
    lines = [
        "| setting | default | more gives | holds for |",
        "|---|---|---|---|",
    ]
    for limit in LIMITS:
        gives = limit.otherwise
        if limit.code is not None:
            entry = CODES[limit.code]
            how = "RUN_ERROR" if entry.stream else str(entry.status)
            gives = f"{how} `{limit.code}`"
        default = f"{limit.default:,} {limit.unit}"
        lines.append(f"| `{limit.setting}` | {default} | {gives} | {limit.where} |")
    return "\n".join(lines) + "\n"
