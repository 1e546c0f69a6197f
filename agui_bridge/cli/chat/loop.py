"""The terminal chat's loop: a message or answers, a run, and again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final

from agui_bridge.cli.chat.frontend_calls import calls_to_carry_out, results_by_hand
from agui_bridge.cli.chat.questions import answer_all
from agui_bridge.cli.chat.refusals import told_refusal
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.cli.chat.typed import CANCEL, QUIT, is_slip
from agui_bridge.cli.chat.waiting import show_waiting
from agui_bridge.client import (
    AnswerFault,
    BrokenStream,
    Client,
    ClientError,
    HttpError,
    NotReached,
    RunEnd,
    RunFailed,
)
from agui_bridge.protocol.json_values import WireEvent

__all__ = ["HELP", "chat"]

PROMPT: Final = "you > "
HELP: Final = """\
Ctrl-C stops a run, Ctrl-D or /quit ends the chat. /state shows the shared state, /waiting what
waits for you on this server. /cancel, at a question, answers it with: nobody decided."""

_WORDS: Final = (QUIT, "/help", "/state", "/waiting")
_ELSEWHERE: Final = {CANCEL: "at a question"}
_SAYING: Final = ("TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")
_UNKNOWN: Final = "THREAD_NOT_FOUND"
_NO_SUCH_ADDRESS: Final = (404, 405)


def chat(
    client: Client, screen: Screen, *, load: bool, headers: Mapping[str, str] | None = None
) -> None:
    """Talk until the input ends.

    Args:
        client: whose conversation it is; it is closed at the end.
        screen: where it is shown and typed.
        load: whether the thread is there already, and to be shown; what runs on it is followed.
        headers: sent with what is asked of the server besides.

    Raises:
        ClientError: the server can't be reached for the thread.
        KeyboardInterrupt: Ctrl-C at a prompt.
    """
    with asyncio.Runner() as runner:

        def tell_waiting() -> None:
            runner.run(show_waiting(client.url, headers or {}, screen))

        try:
            if load:
                runner.run(_come_back(client, screen))
            end = client.end
            with contextlib.suppress(EOFError):
                while (turn := _next(client, screen, tell_waiting, end)) is not None:
                    if runner.run(_run(client, screen, **turn)):
                        end = client.end
        finally:
            runner.run(client.aclose())


def _next(
    client: Client, screen: Screen, tell_waiting: Callable[[], None], end: RunEnd | None
) -> dict[str, Any] | None:
    """What to send after a run that ended so; None for the end."""
    if client.pending_interrupts:
        return {"resume": answer_all(client, screen)}
    if calls := calls_to_carry_out(client.messages, end):
        return {"message": results_by_hand(screen, calls)}
    before = None
    while True:
        said = screen.read(PROMPT).strip()
        if said == QUIT:
            return None
        if said == "/waiting":
            tell_waiting()
        elif said == "/help":
            screen.note(HELP)
        elif said == "/state":
            screen.note(json.dumps(client.state, ensure_ascii=False, indent=2))
        elif said and (said == before or not is_slip(screen, said, _WORDS, _ELSEWHERE)):
            return {"message": said}
        before = said


async def _come_back(client: Client, screen: Screen) -> None:
    """Show what a thread has, and what runs on it to its end.

    Raises:
        NotReached: no connection.
        HttpError: the server refuses it for another reason than that it knows no such thread.
    """
    try:
        await _read(client, screen, _seen_anew(client, screen))
    except HttpError as error:
        if error.code == _UNKNOWN:
            screen.note("There is no such thread yet: your first message begins it.")
        elif error.code is None and error.status in _NO_SUCH_ADDRESS:
            screen.note("The server tells nothing of this thread; it may know it all the same.")
        else:
            raise HttpError(error.status, told_refusal(error), error.code) from None
    except (BrokenStream, RunFailed) as error:
        screen.fail(str(error))


async def _seen_anew(client: Client, screen: Screen) -> AsyncGenerator[WireEvent, None]:
    """Follow a thread; what its snapshots bring beside the events is shown as a conversation."""
    seen: set[str] = set()
    async with contextlib.aclosing(client.follow()) as events:
        async for event in events:
            if event["type"] == "MESSAGES_SNAPSHOT":
                screen.conversation([m for m in client.messages if m["id"] not in seen])
            seen.update(m["id"] for m in client.messages)
            yield event


async def _told_at_least(
    client: Client, screen: Screen, events: AsyncGenerator[WireEvent, None]
) -> AsyncGenerator[WireEvent, None]:
    """The events of a run; of one that says nothing itself, what its snapshots have is shown.

    So an answer's outcome is told to whoever answered second.
    """
    known: set[str] | None = None
    is_told = False
    async with contextlib.aclosing(events):
        async for event in events:
            if known is None:
                known = {message["id"] for message in client.messages}
            is_told = is_told or event["type"] in _SAYING
            if event["type"] in ("RUN_FINISHED", "RUN_ERROR") and not is_told:
                screen.conversation([m for m in client.messages if m["id"] not in known])
                is_told = True
            yield event


async def _run(client: Client, screen: Screen, **turn: Any) -> bool:
    """Run, and tell what went wrong; gives whether the server heard of it."""
    try:
        await _read(client, screen, _told_at_least(client, screen, client.run(**turn)))
    except AnswerFault as fault:
        # Nothing was sent: the questions are asked again.
        screen.fail(str(fault))
        return False
    except HttpError as error:
        screen.fail(told_refusal(error))
        return False
    except NotReached as error:
        screen.fail(str(error))
        return False
    except ClientError as error:
        screen.fail(str(error))
        if isinstance(error, BrokenStream):
            screen.note(
                f"What became of it: begin again with --thread {client.thread_id}, or, with a "
                "server of another make, say something."
            )
    return True


async def _read(client: Client, screen: Screen, events: AsyncGenerator[WireEvent, None]) -> None:
    """Show a run while Ctrl-C stops it."""
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    def stop() -> None:
        screen.note("at once …" if stopping else "stopping … (Ctrl-C again: at once)")
        stopping.append(loop.create_task(client.stop(force=bool(stopping))))

    # Windows has no such handlers; Ctrl-C ends the chat there.
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, stop)
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                screen.show(event)
        if client.end is not None and client.end.outcome == "cancelled":
            screen.note("stopped")
    finally:
        # On Windows there is none to take away either.
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*stopping, return_exceptions=True)
