"""Real processes on one store: starts `racer` and ends it whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.stores.racer import main
from tests.support.forks import fork_talking
from tests.support.waiting import PATIENCE

__all__ = ["Racer", "racers"]


class Racer:
    """One process that runs a mode of `racer`."""

    def __init__(self, mode: str, url: str) -> None:
        self._process, self._line = fork_talking(main, mode, url)

    def tell(self, word: object) -> None:
        """Send a word."""
        self._line.send(word)

    def hear(self) -> str:
        """Wait for a word; empty when the process has ended."""
        assert self._line.poll(PATIENCE), "it says nothing"
        try:
            return str(self._line.recv())
        except EOFError:
            return ""

    def rest(self) -> list[str]:
        """What it has said until it ended."""
        return list(iter(self.hear, ""))

    def wait(self) -> int | None:
        """Wait until it has ended; gives its exit code."""
        self._process.join(PATIENCE)
        return self._process.exitcode

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._process.kill()
        assert self.wait() is not None, "it lives on"

    def close(self) -> None:
        """End it, however it is."""
        self.kill()
        self._line.close()


@contextmanager
def racers(mode: str, url: str, number: int) -> Iterator[list[Racer]]:
    """Run some processes for as long as the block lasts."""
    with ExitStack() as stack:
        started = [Racer(mode, url) for _ in range(number)]
        for racer in started:
            stack.callback(racer.close)
        yield started
