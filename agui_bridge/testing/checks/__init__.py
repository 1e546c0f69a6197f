"""Every check, in the order in which they are carried out and read about."""

from typing import Final

from agui_bridge.testing.check import Check
from agui_bridge.testing.checks import capabilities, decisions, once, stops, streams

__all__ = ["CHECKS"]

CHECKS: Final[tuple[Check, ...]] = (
    streams.text,
    streams.events,
    streams.pause_last,
    streams.ids,
    streams.continuation,
    streams.secret,
    decisions.pause,
    decisions.approve,
    decisions.result,
    decisions.decline,
    decisions.edit,
    decisions.cancel,
    decisions.parallel,
    decisions.answer,
    decisions.cancel_question,
    once.restart,
    once.once,
    once.race,
    once.next_message,
    once.threads,
    once.undelivered,
    once.lease,
    stops.text_kept,
    stops.cancelled,
    stops.stop_by_itself,
    stops.after_stop,
    stops.stop_acting,
    stops.stopped_pause,
    stops.close,
    capabilities.capabilities,
    capabilities.policy,
)
"""All of them. `id` is unique."""
