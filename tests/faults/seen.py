"""What is seen of a fault from outside, and what has to hold after every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.target import Answered, Target

__all__ = ["Seen"]


@dataclass(frozen=True)
class Seen:
    """What was seen of a fault.

    Attributes:
        client: what the client of the replica gets that it happens to.
        again: what the same answer gets that is sent to another replica afterwards.
        stored: the status of the interrupt at the end.
        executed: how often the tool had its effect, counted outside.
    """

    client: str
    again: str
    stored: str
    executed: int

    @classmethod
    def after(cls, client: Answered, healthy: Target, thread: str, answer: dict[str, Any]) -> Seen:
        """Send the answer once more to another replica, and see what has become of it all.

        Whatever happened, the answer counts the same ever after, and the thread can be used.
        """
        again = _what(healthy.send(thread, resume=[answer]))
        (stored,) = _statuses(healthy, thread)
        assert _what(healthy.send(thread, resume=[answer])) == again
        assert _what(healthy.send(thread, "hello")) == "success", "the thread is bricked"
        assert healthy.thread(thread)["status"] == "idle"
        assert _statuses(healthy, thread) == [stored]
        executed = sum(effect["to"] == f"{thread}-0@example.com" for effect in healthy.effects)
        return cls(_what(client), again, stored, executed)


def _what(answered: Answered) -> str:
    """An answer in short."""
    if answered.broken:
        return "cut off"
    return answered.refused or answered.code or answered.outcome or "nothing"


def _statuses(target: Target, thread: str) -> list[str]:
    return [row["status"] for row in target.audit(thread)]
