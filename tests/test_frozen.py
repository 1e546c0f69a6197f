"""Records are frozen for type checkers and in development mode, and cost a run nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import field

import pytest

from agui_bridge.frozen import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Point:
    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class _Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(f"{self.number} is odd")


@dataclass(frozen=True, slots=True)
class _Named:
    number: int
    name: str = field(kw_only=True)


def test_a_record_with_changes_leaves_the_record_as_it_was() -> None:
    point = _Point(1, 2)
    assert replace(point, y=3) == _Point(1, 3)
    assert point == _Point(1, 2)


def test_a_record_with_changes_is_checked_like_a_new_one() -> None:
    with pytest.raises(ValueError, match="3 is odd"):
        replace(_Even(2), number=3)


def test_fields_that_are_given_by_name_alone_are_changed_too() -> None:
    assert replace(_Named(1, name="a"), name="b") == _Named(1, name="b")


def test_equal_records_are_one_key() -> None:
    assert {_Point(1, 2): "here"}[_Point(1, 2)] == "here"


def test_a_record_takes_no_other_attribute() -> None:
    with pytest.raises(AttributeError):
        object.__setattr__(_Point(1), "z", 3)


def test_in_development_mode_a_record_is_frozen() -> None:
    program = """
from agui_bridge.protocol.threads.records import ThreadKey
key = ThreadKey("scope", "agent", "thread")
assert hash(key) == hash(ThreadKey("scope", "agent", "thread"))
key.thread = "another"
"""
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "FrozenInstanceError: cannot assign to field 'thread'" in ended.stderr
