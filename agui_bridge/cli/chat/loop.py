"""The terminal chat's loop: a message or answers, a run, and again; what waits on other threads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from agui_bridge.cli.chat.questions import answer_all
from agui_bridge.cli.chat.screen import Screen, drop_typed_ahead
from agui_bridge.cli.chat.typed import CANCEL, QUIT, Withdrawn, is_slip, read_all, refuse, typed
from agui_bridge.client import (
    AnswerFault,
    BrokenStream,
    Client,
    ClientError,
    HttpError,
    InboxClient,
    NotReached,
    RunEnd,
    RunFailed,
)
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.text.shown import in_room, shown_json, shown_line, shown_name

# --- calls of a page's own tools, which no terminal can carry out: a person does, or skips them ---

SKIPPED: Final = "Not carried out: the user has no page that can do this."


def calls_to_carry_out(
    messages: Sequence[Mapping[str, Any]], end: RunEnd | None
) -> list[Mapping[str, Any]]:
    """The calls that the agent waits for, `{id, type, function}`.

    Args:
        messages: the conversation.
        end: how its last run ended. After an error or a stop, nothing says whose a call is that
            has no result: the agent's own may have run.
    """
    if end is None or end.outcome != "success":
        return []
    called: list[Mapping[str, Any]] = []
    told: set[str] = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            told.add(message["toolCallId"])
        elif message["role"] == "assistant" and message.get("toolCalls"):
            called[:0] = message["toolCalls"]
        else:
            # Whoever speaks behind a call does not wait for it.
            break
    waiting = [call for call in called if call["id"] not in told]
    if end.pending_tool_call_ids is None:
        return waiting
    return [call for call in waiting if call["id"] in end.pending_tool_call_ids]


def results_by_hand(screen: Screen, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Ask for each call's result; gives the tool messages that go on with the run.

    Raises:
        EOFError: see `typed`.
    """
    return [_message(call, _result(screen, call)) for call in calls]


def _result(screen: Screen, call: Mapping[str, Any]) -> str:
    name = call["function"]["name"]
    screen.note(f"{name} is a tool of a page, and here is none.", "yellow")
    unread = screen.whole_call(name, call["function"]["arguments"])
    drop_typed_ahead()
    while True:
        try:
            read_all(screen, unread)
            said = typed(screen, "[r]esult by hand, [s]kip > ").lower()
        except Withdrawn:
            return SKIPPED
        if said in ("s", "skip"):
            return SKIPPED
        if said in ("r", "result") and (result := _by_hand(screen)):
            return result
        if said and said not in ("r", "result"):
            refuse(screen.note, "Nothing was sent. Type r or s.")


def _by_hand(screen: Screen) -> str:
    try:
        return typed(screen, "what the tool would return (Enter: back) > ")
    except Withdrawn:
        return ""


def _message(call: Mapping[str, Any], content: str) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "role": "tool", "toolCallId": call["id"], "content": content}


# --- the loop ---

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


_MOST: Final = 20
_LONGEST: Final = 100


async def show_waiting(url: str, headers: Mapping[str, str], screen: Screen) -> None:
    """List the open questions that the person may answer, oldest first.

    Args:
        url: of the agent, `…/agents/NAME`.
        headers: sent with the request.
        screen: where they are shown.
    """
    server, found, _ = url.rpartition("/agents/")
    if not found:
        screen.note("Only an agui-bridge server tells what waits on other threads.")
        return
    try:
        async with InboxClient(server, headers=headers) as inbox:
            page = await inbox.pending(mine=True, limit=_MOST)
    except HttpError as error:
        screen.fail(told_refusal(error))
        return
    except ClientError as error:
        screen.fail(str(error))
        return
    try:
        rows = [
            (
                shown_line(question["threadId"]),
                shown_line(question["agent"]),
                _since(question),
                _asked(question),
            )
            for question in page["interrupts"]
        ]
        rest = " There are more." if page["cursor"] is not None else ""
        if page["count"] is not None and page["count"] > len(rows):
            rest = f" {page['count'] - len(rows)} more wait."
    except (KeyError, TypeError, ValueError):
        screen.fail(f"{server} lists something else than questions.\n{ADDRESS}")
        return
    if not rows:
        screen.note("Nothing waits for you.")
        return
    screen.table(rows, ("thread", "agent", "since", "asks"))
    screen.note(f"To answer one: agui-bridge chat {server} --agent AGENT --thread THREAD.{rest}")


def _since(question: Mapping[str, Any]) -> str:
    history = question["history"]
    if not history:
        return ""
    asked = datetime.fromisoformat(history[0]["at"]).astimezone(UTC)
    return f"{asked:%Y-%m-%d %H:%M} UTC"


def _asked(question: Mapping[str, Any]) -> str:
    call = question.get("toolCall")
    if call is not None:
        line = f"{shown_name(call['name'])} {shown_json(call['args'])}"
    else:
        line = shown_line(question.get("message") or question["reason"])
    return in_room(line, _LONGEST).text


SIGN_IN: Final = 'Begin again with a token: --header "Authorization: Bearer …".'

ADDRESS: Final = (
    "Check the address: that of an AG-UI endpoint, or of an agui-bridge server with --agent."
)
_NO_SUCH_PLACE: Final = frozenset({None, "NOT_FOUND", "METHOD_NOT_ALLOWED"})


def told_refusal(error: HttpError) -> str:
    """What the endpoint said, and the remedy if the caller has one.

    Args:
        error: the refusal.
    """
    if error.status == 401:
        return f"{error}\n{SIGN_IN}"
    if 300 <= error.status < 400:
        return f"{error}\nThe server redirects to another address: give that one."
    # A stream comes with 200, and what is no stream from an address that is no endpoint.
    wrong = error.status == 200 or (error.status in (404, 405) and error.code in _NO_SUCH_PLACE)
    return f"{error}\n{ADDRESS}" if wrong else str(error)
