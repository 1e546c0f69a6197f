"""Taking turns: A B A B …, so that a busy machine slows all contenders alike."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping


def interleave(
    contenders: Mapping[str, Callable[[], float]], rounds: int, *, warm_up: bool = True
) -> dict[str, tuple[float, ...]]:
    """Measure every contender once a round.

    Each round begins with another contender, so that none always follows the same one.

    Args:
        contenders: measurements by name; each does its work and gives a number.
        rounds: how many rounds count.
        warm_up: whether each has a turn before that does not count.

    Returns:
        The numbers by name, in the order of the rounds.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(-1 if warm_up else 0, rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            taken = contenders[name]()
            if number >= 0:
                samples[name].append(taken)
    return {name: tuple(numbers) for name, numbers in samples.items()}


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from running while something short is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
