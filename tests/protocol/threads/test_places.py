"""What a client is told alone, so that all of a thread comes to stand in its place."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import pytest

from agui_bridge.protocol.threads.messages.taken_back import told_alone

ROLES: Final = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}

# The thread, the client's list, what of it is new: what is told alone.
CASES: Final = {
    "has all": ("u1 a1 u2 a2", "u1 a1 u2 a2", "", None),
    "lacks the end": ("u1 a1 u2 a2", "u1 a1", "", None),
    "has nothing": ("u1 a1", "", "", None),
    "says something beyond what it lacks": ("u1 a1 u2 a2 u3", "u1 a1 u3", "u3", "u1 a1 u2"),
    "its answer was cut off, and another's came before": (
        "u1 a1 u2 a2 u3 a3", "u1 a1 u3", "", "u1 a1 u2",
    ),
    "lacks the beginning": ("u1 a1 u2 a2 u3", "u2 a2 u3", "u3", "u1"),
    "has another order": ("u1 a1 u2 a2", "u2 a2 u1 a1", "", "u1"),
    "lacks a result": ("u1 a1 t1 u2", "u1 a1 u2", "u2", "u1"),
    "has results in its own order": ("u1 a1 t1 t2 a2", "u1 a1 t2 t1 a2", "", None),
    "keeps no instructions": ("s1 u1 a1 u2", "u1 a1 u2", "u2", None),
    "the agent spoke first": ("a1 u1 a2", "u1 a2", "u1", ""),
}  # fmt: skip


def thread(ids: str | Sequence[str]) -> list[dict[str, Any]]:
    names = ids.split() if isinstance(ids, str) else ids
    return [{"id": id, "role": ROLES[id[0]]} for id in names]


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_alone_ends_with_a_user_message_before_the_first_that_is_out_of_place(
    case: str,
) -> None:
    stored, listed, new, alone = CASES[case]

    until = told_alone(thread(stored), listed.split(), new.split())

    assert until == (None if alone is None else len(alone.split()))
    assert alone is None or stored.startswith(alone)


def test_whatever_a_client_has_it_has_the_thread_in_order_afterwards() -> None:
    dice = random.Random(7)
    for _ in range(5_000):
        stored = [f"{dice.choice('uats')}{n}" for n in range(dice.randrange(1, 8))]
        told = [id for id in stored if id[0] != "s"]
        listed = [id for id in told if dice.random() < 0.7]
        if dice.random() < 0.4:
            dice.shuffle(listed)
        new = [id for id in listed if id[0] == "u" and dice.random() < 0.3]

        until = told_alone(thread(stored), listed, new)

        at_once = taken_in(listed, told)
        shown = at_once if until is None else taken_in(taken_in(listed, stored[:until]), told)
        assert ordered(shown) == ordered(told), (stored, listed, new, until)
        # Nothing is told alone that need not be.
        assert (until is None) == (ordered(at_once) == ordered(told))


def taken_in(listed: Sequence[str], snapshot: Sequence[str]) -> list[str]:
    """A client's list once it has taken a snapshot in."""
    kept = [id for id in listed if id in snapshot]
    return [*kept, *(id for id in snapshot if id not in listed and id[0] != "s")]


def ordered(ids: Sequence[str]) -> list[str]:
    """The ids with results that follow one another in one order."""
    found: list[str] = []
    results: list[str] = []
    for id in [*ids, ""]:
        if id.startswith("t"):
            results.append(id)
            continue
        found += [*sorted(results), id]
        results = []
    return found
