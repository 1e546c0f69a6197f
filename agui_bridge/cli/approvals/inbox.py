"""`agui-bridge inbox`: the questions of a server, found, shown and answered in the terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import read_address, read_header
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.previews import read_preview
from agui_bridge.terminal import Terminal, paint
from agui_bridge.text.shown import (
    GOES_ON,
    STALE,
    in_room,
    shown_json,
    shown_line,
    shown_lines,
    shown_name,
    shown_word,
)
from agui_bridge.text.visible import visible_json

if TYPE_CHECKING:
    from agui_bridge.client.inbox import InboxClient

T = TypeVar("T")

_STATUSES: Final = (
    "open",
    "answered",
    "claimed",
    "resolved",
    "cancelled",
    "expired",
    "indeterminate",
    "any",
)
_UNSETTLED: Final = ("open", "answered", "claimed")
"""Statuses of what may still run; of the others an approval lets nothing run."""

_LONGEST: Final = 200


def _server_options(command: Any) -> Any:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead."),
        click.option(
            "--header",
            multiple=True,
            help='A header of every request, "Name: value"; may be repeated.',
        ),
        click.option(
            "--token",
            envvar="AGUI_BRIDGE_TOKEN",
            show_envvar=True,
            show_default=False,
            help="Sent as a bearer token.",
        ),
    ):
        command = option(command)
    return command


@click.group(cls=CommandGroup)
def inbox() -> None:
    """Find, show and answer what agents ask people.

    URL is the address of an agui-bridge server. What you see and may answer is
    up to who you are there: give a token with --token or AGUI_BRIDGE_TOKEN.

    Examples:
      agui-bridge inbox list http://127.0.0.1:8787 --mine
      agui-bridge inbox show http://127.0.0.1:8787 REF
      agui-bridge inbox answer http://127.0.0.1:8787 REF --approve
    """


@inbox.command("list", cls=Command)
@click.argument("url")
@click.option("--agent", help="Only questions of this agent.")
@click.option("--tool", help="Only questions about calls of this tool.")
@click.option("--thread", help="Only questions of threads of this id.")
@click.option(
    "--status",
    type=click.Choice(_STATUSES),
    default="open",
    metavar="STATUS",
    help=f"Only questions of this status: {', '.join(_STATUSES)}.",
)
@click.option("--mine", is_flag=True, help="Only questions that wait for you.")
@click.option("--after", metavar="CURSOR", help="Go on behind the page before.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="As many at most.")
@_server_options
def list_questions(
    url: str,
    agent: str | None,
    tool: str | None,
    thread: str | None,
    status: str,
    mine: bool,
    after: str | None,
    limit: int,
    token: str | None,
    header: tuple[str, ...],
    as_json: bool,
) -> None:
    """List questions, the oldest first.

    Each has three lines: what is asked; where, who asked and whether you may
    answer; and its reference, for `show` and `answer`. A line ends with … where
    there is more: `show` prints all of it.

    Examples:
      agui-bridge inbox list http://127.0.0.1:8787
      agui-bridge inbox list http://127.0.0.1:8787 --tool delete_rows --mine
      agui-bridge inbox list http://127.0.0.1:8787 --json
    """
    page = _ask(
        url,
        token,
        header,
        lambda client: client.pending(
            agent=agent,
            tool=tool,
            thread=thread,
            status=None if status == "any" else status,
            mine=mine,
            after=after,
            limit=limit,
        ),
    )
    if as_json:
        _print(page)
        return
    terminal = Terminal()
    cut = 0
    for question in page["interrupts"]:
        asked = in_room(_asked(question), _LONGEST)
        cut += not asked.is_whole
        terminal.say(paint(asked.text, "bold"))
        terminal.say(f"  {_about(question)}")
        terminal.say(paint(f"  {question['ref']}", "dim"))
    shown, count = len(page["interrupts"]), page["count"]
    total = "" if count is None else f" of {count}"
    terminal.say(f"{shown}{total} questions")
    if cut:
        terminal.say(f"Cut at …: {cut}. All of one: agui-bridge inbox show {quote(url)} REF")
    if page["cursor"] is not None:
        terminal.say(f"To go on: add --after {page['cursor']}")


@inbox.command(cls=Command)
@click.argument("url")
@click.argument("ref")
@_server_options
def show(url: str, ref: str, token: str | None, header: tuple[str, ...], as_json: bool) -> None:
    """Show one question, with its arguments and all that happened to it.

    REF is its reference, as `list` prints it.

    Examples:
      agui-bridge inbox show http://127.0.0.1:8787 REF
      agui-bridge inbox show http://127.0.0.1:8787 REF --json
    """
    question = _ask(url, token, header, lambda client: client.show(ref), ref)
    if as_json:
        _print(question)
    else:
        terminal = Terminal()
        for line in _told(question):
            terminal.say(line)


@inbox.command(cls=Command)
@click.argument("url")
@click.argument("ref")
@click.option("--approve", is_flag=True, help="Let the tool run.")
@click.option("--decline", is_flag=True, help="Let it not run; say why with --reason.")
@click.option("--cancel", is_flag=True, help="Decide nothing.")
@click.option("--payload", metavar="JSON", help="An answer of any shape, such as edited arguments.")
@click.option("--reason", metavar="TEXT", help="Why; it reaches the agent.")
@click.option("--yes", is_flag=True, help="Do not ask once more in a terminal.")
@click.option(
    "--wait",
    type=click.FloatRange(0, 300),
    default=30.0,
    metavar="SECONDS",
    help="How long to wait for the run's end.",
)
@_server_options
def answer(
    url: str,
    ref: str,
    approve: bool,
    decline: bool,
    cancel: bool,
    payload: str | None,
    reason: str | None,
    yes: bool,
    wait: float,
    token: str | None,
    header: tuple[str, ...],
    as_json: bool,
) -> None:
    """Answer one question, whatever else its thread asks.

    REF is its reference, as `list` prints it. Say what the answer is: there is
    no default. An answer that lets a tool run is sent once all that will run is
    printed, to standard error; in a terminal you are asked then. --yes asks
    nothing.

    The exit code is 0 when it was taken, 1 when it was refused or not sent. An
    identical answer has the same outcome again.

    Examples:
      agui-bridge inbox answer http://127.0.0.1:8787 REF --approve
      agui-bridge inbox answer http://127.0.0.1:8787 REF --decline --reason "no"
      agui-bridge inbox answer http://127.0.0.1:8787 REF --payload '{"ok": true}'
    """
    given = _payload(approve=approve, decline=decline, cancel=cancel, text=payload, reason=reason)
    if approve or (isinstance(given, dict) and given.get("approved") is True):
        question = _ask(url, token, header, lambda client: client.show(ref), ref)
        if question["status"] in _UNSETTLED and not _is_read(question, given, asks=not yes):
            raise click.exceptions.Exit(1)
    outcome = _ask(
        url,
        token,
        header,
        lambda client: client.answer(ref, given, cancel=cancel, wait=wait),
        ref,
    )
    if as_json:
        _print(outcome)
    else:
        terminal = Terminal()
        colour = "red" if outcome["status"] == "refused" else "green"
        terminal.say(paint(outcome["status"], colour, "bold"))
        if "message" in outcome:
            terminal.say(f"{outcome['code']}: {shown_line(outcome['message'])}")
        if "result" in outcome:
            terminal.say(f"result: {shown_json(outcome['result'])}")
    if outcome["status"] == "refused":
        raise click.exceptions.Exit(1)


def _payload(
    *, approve: bool, decline: bool, cancel: bool, text: str | None, reason: str | None
) -> Any:
    if [approve, decline, cancel, text is not None].count(True) != 1:
        raise ConfigurationError(
            "Nothing says what the answer is, or several things do.\n"
            "Give one of --approve, --decline, --cancel and --payload."
        )
    if cancel or text is not None:
        if reason is not None:
            raise ConfigurationError("--reason goes with --approve and --decline.")
        return None if text is None else _json(text)
    return {"approved": approve, **({} if reason is None else {"reason": reason})}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError(
            f"--payload is no JSON: {error}.\nQuote strings: --payload '\"yes\"'."
        ) from None


def _ask(
    url: str,
    token: str | None,
    header: tuple[str, ...],
    work: Callable[[InboxClient], Coroutine[Any, Any, T]],
    ref: str | None = None,
) -> T:
    # httpx takes a while to import.
    from agui_bridge.client.inbox import InboxClient

    server = read_address(url)
    if ref == "":
        raise ConfigurationError(
            "The reference is empty.\n`agui-bridge inbox list` prints one for each question."
        )
    headers = dict(map(read_header, header))
    if token:
        headers["Authorization"] = f"Bearer {token}"

    async def ask() -> T:
        async with InboxClient(server, headers=headers) as client:
            return await work(client)

    return asyncio.run(ask())


def _print(value: Any) -> None:
    click.echo(visible_json(value, indent=2))


def _is_read(question: dict[str, Any], given: dict[str, Any], *, asks: bool) -> bool:
    """Print all that an approval lets run, and ask whoever reads it."""
    terminal, args = Terminal(sys.stderr), given.get("editedArgs")
    lines = list(_told(question))
    if args is not None:
        lines.append(_row("will run", shown_json(args)))
        lines += [_row("", STALE)] if any(_previewed(question)) else []
    if not (terminal.is_terminal and sys.stdin.isatty() and asks):
        for line in lines:
            terminal.say(line)
        return True
    lines = terminal.framed_lines(lines, goes_on=GOES_ON)
    room = max(terminal.height - 2, 1)
    for at in range(0, len(lines), room):
        for line in lines[at : at + room]:
            terminal.say(line)
        if at + room < len(lines):
            click.prompt(
                "Enter: go on", default="", show_default=False, prompt_suffix=" > ", err=True
            )
    return click.confirm("Approve this?", err=True)


def _asked(question: dict[str, Any]) -> str:
    """What is asked."""
    call = question.get("toolCall")
    if call is not None:
        return f"{shown_name(call['name'])} {shown_json(call['args'])}"
    return shown_line(question.get("message") or question["reason"])


def _about(question: dict[str, Any]) -> str:
    thread = shown_line(question["threadId"])
    parts = [f"{shown_line(question['agent'])}, thread {thread}", question["status"]]
    if question["askedBy"] is not None:
        parts.append(f"asked by {shown_line(question['askedBy'])}")
    if question["status"] == "open":
        why = question["why"]
        parts.append("yours to answer" if why is None else shown_line(why["message"]))
        if question.get("expiresAt"):
            parts.append(f"until {question['expiresAt']}")
    return "; ".join(parts)


def _told(question: dict[str, Any]) -> Iterator[str]:
    """All of a question, as lines."""
    call = question.get("toolCall")
    yield paint(_asked(question) if call is None else shown_name(call["name"]), "bold")
    rows = {
        "agent": shown_line(question["agent"]),
        "thread": shown_word(question["threadId"]),
        "status": question["status"],
        "asked by": shown_word(question["askedBy"]) if question["askedBy"] else "",
        "message": shown_line(question.get("message") or ""),
        "expires": question.get("expiresAt") or "",
        "answer": _compact(question["answer"]),
        "may answer": "yes" if question["mayAnswer"] else shown_line(question["why"]["message"]),
        "approval": _compact(question["approval"]),
        "arguments": _compact(call["args"] if call is not None else None),
        "would do": "\n".join(_previewed(question)),
        "metadata": _compact(question.get("metadata")) if call is None else "",
        "schema": _compact(question.get("responseSchema")),
    }
    for name, value in rows.items():
        for line in value.split("\n") if value else ():
            yield _row(name, line)
            name = ""
    for entry in question["history"]:
        what = entry.get("event") or entry["status"]
        through = f" via {entry['via']}" if "via" in entry else ""
        yield _row("", f"{entry['at']} {what} by {shown_word(entry['actor'])}{through}")


def _previewed(question: dict[str, Any]) -> Iterator[str]:
    """What the call would do, line by line."""
    told = ((question.get("metadata") or {}).get("agui_bridge") or {}).get("preview")
    if told is not None:
        for line in shown_lines(read_preview(told)):
            yield line.text


def _row(name: str, value: str) -> str:
    return f"{name:<11} {value}"


def _compact(value: Any) -> str:
    return "" if value is None else shown_json(value)
