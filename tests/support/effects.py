"""What tools did, counted outside of any stream: a file that each execution appends a line to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def lines_of(file: Path) -> list[str]:
    """Give the whole lines of a file that another process may be writing; none before it exists.

    A reader can meet the beginning of a line whose rest is on its way.
    """
    if not file.exists():
        return []
    *lines, _beginning = file.read_text(encoding="utf-8").split("\n")
    return lines


class Effects:
    """What agents did, one thing a line, apart from all that the bridge keeps or tells."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, what: str) -> None:
        """Note one thing, in one write."""
        with self._path.open("a") as file:
            file.write(f"{what}\n")

    @property
    def may_end(self) -> bool:
        """Whether a test lets what goes on come to its end."""
        return (self._path.parent / "go").exists()

    @property
    def counted(self) -> Counter[str]:
        """How often each thing was done."""
        return Counter(lines_of(self._path))
