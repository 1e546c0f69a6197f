"""Pages of a thread that may be larger than what a process can hold: bounded by bytes."""

from __future__ import annotations

from collections.abc import Iterable


def first_within(sizes: Iterable[tuple[str, int]], most_bytes: int | None) -> list[str]:
    """The ids of the first messages that fit together, one at least.

    Args:
        sizes: ids of messages and the bytes that each takes.
        most_bytes: of all together; None is all.
    """
    ids: list[str] = []
    left = most_bytes
    for id, size in sizes:
        if left is not None:
            left -= size
            if left < 0 and ids:
                break
        ids.append(id)
    return ids
