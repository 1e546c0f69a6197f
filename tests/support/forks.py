"""Processes that run a module of ours and begin within milliseconds.

They are forked by a process that has imported what they need, and that does nothing else: to start
an interpreter and import it all takes most of a second of a core.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

__all__ = ["CONTEXT", "fork", "fork_talking"]

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


def _run(module: str, arguments: Sequence[str], log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = [module, *arguments]
    importlib.import_module(module).main()
