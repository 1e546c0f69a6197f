"""The terminal chat's loop: a message or answers, a run, and again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from typing import Any, Final

from agui_bridge.cli.chat.questions import QUIT, answer_all
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import AnswerFault, Client, ClientError

__all__ = ["HELP", "chat"]

PROMPT: Final = "you > "
HELP: Final = (
    "Ctrl-C stops a run, Ctrl-D or /quit ends the chat. /state shows the shared state.\n"
    "/cancel, at a question, answers it with: nobody decided."
)


def chat(client: Client, screen: Screen, *, load: bool) -> None:
    """Talk until the input ends.

    Args:
        client: whose conversation it is; it is closed at the end.
        screen: where it is shown and typed.
        load: whether the thread is there already, and to be shown.

    Raises:
        ClientError: the server can't be reached for the thread.
        KeyboardInterrupt: Ctrl-C at a prompt.
    """
    with asyncio.Runner() as runner:
        try:
            if load and not runner.run(client.load()):
                screen.note("The server tells nothing of this thread; it may know it all the same.")
            screen.conversation(client.messages)
            with contextlib.suppress(EOFError):
                while (turn := _next(client, screen)) is not None:
                    runner.run(_run(client, screen, **turn))
        finally:
            runner.run(client.aclose())


def _next(client: Client, screen: Screen) -> dict[str, Any] | None:
    """What to send; None for the end."""
    if client.pending_interrupts:
        return {"resume": answer_all(client, screen)}
    while True:
        said = screen.read(PROMPT).strip()
        if said == QUIT:
            return None
        if said == "/help":
            screen.note(HELP)
        elif said == "/state":
            screen.note(json.dumps(client.state, ensure_ascii=False, indent=2))
        elif said:
            return {"message": said}


async def _run(client: Client, screen: Screen, **turn: Any) -> None:
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    def stop() -> None:
        screen.note("at once …" if stopping else "stopping … (Ctrl-C again: at once)")
        stopping.append(loop.create_task(client.stop(force=bool(stopping))))

    # Windows has no such handlers; Ctrl-C ends the chat there.
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, stop)
    try:
        async for event in client.run(**turn):
            screen.show(event)
        if client.end is not None and client.end.outcome == "cancelled":
            screen.note("stopped")
    except AnswerFault as fault:
        # Nothing was sent: the questions are asked again.
        screen.fail(str(fault))
    except ClientError as error:
        screen.fail(str(error))
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stopping, return_exceptions=True)
