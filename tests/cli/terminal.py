"""A command in a terminal of its own: typed into, read, and interrupted by its keys."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from typing import Final

from tests.cli.processes import ROOT, environment
from tests.support.commands import Command

__all__ = ["BACKSPACE", "CTRL_C", "CTRL_D", "CTRL_U", "Terminal", "terminal"]

PATIENCE: Final = 30.0
BACKSPACE: Final = "\x7f"
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
CTRL_U: Final = "\x15"
NEXT_SCREEN: Final = "Enter: go on"

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


class Terminal:
    """What stands on the screen of a command, as text.

    Attributes:
        shown: all that was printed, typed lines included, without colours.
    """

    def __init__(self, process: Command, screen: int) -> None:
        self.process = process
        self.shown = ""
        self._screen = screen
        self._seen = 0
        # A read may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def wait_for(self, text: str) -> str:
        """Read until a text stands after what was waited for before; gives what came with it."""
        return self._wait_for(text)[0]

    def read_on(self, prompt: str) -> list[str]:
        """Press Enter at each screen of a long question, until a prompt stands there.

        Gives what came on each screen.
        """
        screens = []
        while True:
            came, found = self._wait_for(prompt, NEXT_SCREEN)
            screens.append(came)
            if found == prompt:
                return screens
            # Its keys stand behind it.
            self.answer(" > ", "")

    def _wait_for(self, *texts: str) -> tuple[str, str]:
        """Read until the first of some texts; gives what came with it, and which it was."""
        deadline = time.monotonic() + PATIENCE
        while not (
            found := [(at, t) for t in texts if (at := self.shown.find(t, self._seen)) >= 0]
        ):
            left = deadline - time.monotonic()
            assert left > 0, f"{texts} did not come:\n{self.shown[self._seen :]}"
            assert self._read(left), f"it ended without {texts}:\n{self.shown[self._seen :]}"
        at, text = min(found)
        at += len(text)
        came, self._seen = self.shown[self._seen : at], at
        return came, text

    def type(self, keys: str, *, enter: bool = True) -> None:
        """Press keys."""
        os.write(self._screen, (keys + ("\n" if enter else "")).encode())

    def answer(self, prompt: str, line: str) -> None:
        """Wait for a prompt and type a line."""
        self.wait_for(prompt)
        self.type(line)

    def leave(self) -> int:
        """Press Ctrl-C until it ends; gives the exit code.

        Python overlooks an interrupt between the prompt and its wait for a key, and whoever
        sits there presses again.
        """
        for _ in range(5):
            self.type(CTRL_C, enter=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(PATIENCE / 5)
        raise AssertionError(f"Ctrl-C does not end it:\n{self.shown[self._seen :]}")

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        while self._read(PATIENCE):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, patience: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], patience)
        if not ready:
            return False
        try:
            read = os.read(self._screen, 65536)
        except OSError:
            return False  # the other end is closed
        text = self._decoder.decode(read)
        self.shown += _ESCAPES.sub("", text).replace("\r\n", "\n")
        return bool(read)


@contextlib.contextmanager
def terminal(*args: str, width: int = 80) -> Iterator[Terminal]:
    """Run a command of `agui-bridge` in a terminal; it is killed at the end."""
    screen, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    variables = environment(TERM="xterm", INPUTRC="/dev/null")
    for name in ("COLUMNS", "NO_COLOR"):
        del variables[name]
    process = Command(
        "agui_bridge",
        *args,
        cwd=ROOT,
        env=variables,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        terminal=True,
    )
    os.close(inside)
    try:
        yield Terminal(process, screen)
    finally:
        process.close()
        os.close(screen)
