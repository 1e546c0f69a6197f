"""Processes that run a module of ours and begin within milliseconds.

They are forked by a process that has imported what they need, and that does nothing else: to start
an interpreter and import it all takes most of a second of a core.
"""

from __future__ import annotations

import asyncio
import faulthandler
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

__all__ = ["CONTEXT", "TELL", "Forked", "Nursery", "fork", "fork_talking", "nursery"]

IMPORTED = [
    *(f"agui_bridge.stores.{name}.store" for name in ("sqlite", "postgres", "redis")),
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto"),
    *("agui_bridge.cli", "agui_bridge.cli.chat.loop", "agui_bridge.http.server"),
    *("agui_bridge.agents.chat.agent", "agui_bridge_agui", "examples.guide"),
    *("tests.support.commands", "tests.support.fault_target"),
]
"""What nearly all of them need; anything else each imports for itself."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(IMPORTED)


TELL = signal.SIGUSR1
"""Has a process of `fork` print where it stands."""


def fork(module: str, arguments: Sequence[str], log: Path) -> BaseProcess:
    """Begin a process that calls `main()` of a module.

    Args:
        module: its name.
        arguments: its command line.
        log: where all that it prints goes.
    """
    # A daemon: it ends with the tests, whatever becomes of them.
    process = CONTEXT.Process(target=_run, args=(module, arguments, log), daemon=True)
    process.start()
    return process


def fork_talking(function: Callable[..., None], *arguments: str) -> tuple[BaseProcess, Connection]:
    """Begin a process that calls a function, and gives it the other end of a line to here.

    Args:
        function: takes its end of the line, and the arguments.
        arguments: what else it is given.
    """
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=function, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


class Forked:
    """A process that a nursery has begun."""

    def __init__(self, line: Connection, pid: int) -> None:
        self._line = line
        self.pid = pid

    def kill(self) -> None:
        """End it at once, if it has not ended, and wait until it is gone."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(30)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended.

        Raises:
            AssertionError: it lives on after so many seconds.
        """
        if self.pid:
            # Until the nursery has been told of it the system keeps its id.
            self._line.send(self.pid)
            assert self._line.poll(seconds), f"process {self.pid} lives on after {seconds:g} s"
            self._line.recv()
            self.pid = 0


class Nursery:
    """A process that has imported a package, and forks itself to run it as a program."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def begin(self, arguments: Sequence[str], log: Path) -> Forked:
        """Begin what `python -m PACKAGE ARGUMENTS` begins; all that it prints goes to the log."""
        self._line.send((arguments, log))
        return Forked(self._line, self._line.recv())


@contextmanager
def nursery(package: str) -> Iterator[Nursery]:
    """A nursery of a package's program, for what takes seconds to import.

    Args:
        package: it has a module `__main__`, which starts nothing when it is imported.
    """
    process, line = fork_talking(_nurse, package)
    try:
        yield Nursery(line)
    finally:
        line.close()
        process.join(30)
        assert process.exitcode == 0, f"the nursery of {package} ended with {process.exitcode}"


def _nurse(line: Connection, package: str) -> None:
    importlib.import_module(f"{package}.__main__")
    begun: set[int] = set()
    while True:
        try:
            told = line.recv()
        except EOFError:
            break
        if isinstance(told, int):
            if told in begun:
                os.waitpid(told, 0)
                begun.remove(told)
            line.send(None)
        else:
            if not (pid := os.fork()):
                _become(package, *told)
            begun.add(pid)
            line.send(pid)
    for pid in begun:
        os.kill(pid, signal.SIGKILL)


def _become(package: str, arguments: Sequence[str], log: Path) -> None:
    """Run the package as the program that this process is from now on; does not return."""
    try:
        _print_to(log)
        sys.argv = [package, *arguments]
        runpy.run_module(package, run_name="__main__", alter_sys=True)
    except BaseException:
        traceback.print_exc()
    # Nothing of the nursery's own is to be ended by it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _run(module: str, arguments: Sequence[str], log: Path) -> None:
    _print_to(log)
    signal.signal(TELL, _tell_where)
    sys.argv = [module, *arguments]
    importlib.import_module(module).main()


def _tell_where(*_: object) -> None:
    """Print what each thread and each task waits for."""
    faulthandler.dump_traceback(all_threads=True)
    with suppress(RuntimeError):  # No loop runs.
        for task in asyncio.all_tasks():
            task.print_stack(file=sys.stderr)
    sys.stderr.flush()


def _print_to(log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
