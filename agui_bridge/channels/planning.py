"""Which deliveries a question needs: worked out from the question alone, under fixed ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agui_bridge.channels.channel import Channel
from agui_bridge.channels.notice import end_of
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey
from agui_bridge.stores.deliveries import Delivery

BRIDGE: Final = ""
"""The channel of what the bridge does itself: escalations."""


def asked_at(ask: Interrupt) -> float:
    """Store time (seconds) at which a question was asked; 0 where nobody wrote it down.

    Args:
        ask: the question.
    """
    return ask.audit[0].at if ask.audit else 0.0


def channels_of(ask: Interrupt, channels: Mapping[str, Channel]) -> tuple[str, ...]:
    """The channels that are told of a question, including unknown ones; none of a timer.

    Args:
        ask: the question.
        channels: the bridge's, by name.
    """
    if ask.is_timer:
        return ()
    if ask.rule is not None and ask.rule.notify:
        return tuple(dict.fromkeys(ask.rule.notify))
    return tuple(name for name, channel in channels.items() if channel.by_default)


def opening(key: ThreadKey, ask: Interrupt, channels: Mapping[str, Channel]) -> list[Delivery]:
    """What is to be told of an open question: now, as reminders, and what escalates it.

    Args:
        key: its thread.
        ask: the question.
        channels: those that are told of its scope's questions, by name; what is for others is
            left out.
    """
    at, rule = asked_at(ask), ask.rule
    names = [name for name in channels_of(ask, channels) if name in channels]
    found = [_told(key, ask, name, "opened", at) for name in names]
    if rule is None or ask.is_timer:
        # Time answers a timer. An escalation would move that.
        return found
    for number, after in enumerate(sorted(rule.remind), 1):
        found += [_told(key, ask, name, "reminded", at + after, number) for name in names]
    for number, step in enumerate(rule.escalate, 1):
        found.append(_told(key, ask, BRIDGE, "escalated", at + step.after, number))
    return found


def escalated(
    key: ThreadKey, ask: Interrupt, number: int, names: Sequence[str], now: float
) -> list[Delivery]:
    """What is to be told once a question was escalated.

    Args:
        key: its thread.
        ask: the question.
        number: of the step, from 1.
        names: of the channels that are told.
        now: store time (seconds).
    """
    return [_told(key, ask, name, "escalated", now, number) for name in dict.fromkeys(names)]


def ending(
    key: ThreadKey, ask: Interrupt, names: Iterable[str], channels: Mapping[str, Channel],
    now: float,
) -> list[Delivery]:  # fmt: skip
    """What is to be told of a question that is over.

    Args:
        key: its thread.
        ask: the question.
        names: of the channels that something was planned for.
        channels: those that are told of its scope's questions, by name.
        now: store time (seconds).
    """
    told = [name for name in names if name in channels and channels[name].tells_end]
    return [
        Delivery(key, f"{ask.id}:{name}:ended", ask.id, name, end_of(ask), now)
        for name in dict.fromkeys(told)
    ]


def _told(
    key: ThreadKey, ask: Interrupt, name: str, event: str, due_at: float, number: int = 0
) -> Delivery:
    step = f"{event}-{number}" if number else event
    return Delivery(key, f"{ask.id}:{name}:{step}", ask.id, name, event, due_at)
