"""Python modules run as commands, each a process that begins within milliseconds.

They are forked as those of `tests.support.forks` are. All else is their own: the number, the
signals, how they end, the files, the folder and the variables.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import runpy
import signal
import subprocess
import sys
import termios
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from tests.support.forks import CONTEXT

__all__ = ["Command"]


class Command:
    """`python -m MODULE ARGUMENTS`, as `subprocess.Popen` has it.

    Args:
        module: its name.
        arguments: its command line.
        cwd: the folder that it runs in.
        env: all its environment variables.
        stdin: a descriptor, `subprocess.PIPE`, or None for nothing to read.
        stdout: the same; None for where the tests' own goes.
        stderr: the same, or `subprocess.STDOUT`.
        terminal: `stdin` is the terminal that its keys, such as Ctrl-C, come from.

    Attributes:
        stdin: its end of a pipe, in bytes; so are `stdout` and `stderr`.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        terminal: bool = False,
    ) -> None:
        self.stdin: io.BufferedWriter | None = None
        self.stdout: io.BufferedReader | None = None
        self.stderr: io.BufferedReader | None = None
        with contextlib.ExitStack() as theirs:
            if stdin == subprocess.PIPE:
                stdin, ours = os.pipe()
                theirs.callback(os.close, stdin)
                self.stdin = os.fdopen(ours, "wb")
            elif stdin is None:
                stdin = os.open(os.devnull, os.O_RDONLY)
                theirs.callback(os.close, stdin)
            if stdout == subprocess.PIPE:
                ours, stdout = os.pipe()
                theirs.callback(os.close, stdout)
                self.stdout = os.fdopen(ours, "rb")
            if stderr == subprocess.PIPE:
                ours, stderr = os.pipe()
                theirs.callback(os.close, stderr)
                self.stderr = os.fdopen(ours, "rb")
            stdout = 1 if stdout is None else stdout
            stderr = stdout if stderr == subprocess.STDOUT else 2 if stderr is None else stderr
            # A connection is what can be handed over: it is a descriptor that can be pickled.
            handed = [Connection(os.dup(descriptor)) for descriptor in (stdin, stdout, stderr)]
            # A daemon: it ends with the tests, whatever becomes of them.
            self._process = CONTEXT.Process(
                target=_run,
                args=(module, arguments, str(cwd), dict(env), handed, terminal),
                daemon=True,
            )
            self._process.start()
            for connection in handed:
                connection.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, or less than 0 for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; gives the exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return self._process.exitcode

    def send_signal(self, sign: int) -> None:
        """Send it a signal, unless it has ended."""
        if self._process.exitcode is None:
            # The server that forked it may have reaped it and not yet said how it ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sign)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """End it, however it is, and close the pipes."""
        self.kill()
        self._process.join()
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def _run(
    module: str,
    arguments: tuple[str, ...],
    folder: str,
    variables: dict[str, str],
    handed: list[Connection],
    terminal: bool,
) -> None:
    if terminal:
        os.setsid()
    for descriptor, connection in enumerate(handed):
        os.dup2(connection.fileno(), descriptor)
        connection.close()
    if terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.path.insert(0, folder)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
