"""Every place where people read a call, and what they read there beside what approves it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import quote, unquote

import click
import httpx
import pytest
from click.testing import CliRunner
from starlette.requests import Request

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.channels.slack.blocks import notice_blocks
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.teams import card
from agui_bridge.cli import app
from agui_bridge.cli.chat.questions import answer_all
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import Client
from agui_bridge.inbox import Inbox
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.stdio import Pipes, serve_stdio
from agui_bridge.terminal import Terminal, _length
from tests.channels.bridges import notice
from tests.channels.receivers import Mailbox
from tests.http.inbox.pages import Person
from tests.support.ports import free_port
from tests.support.server import run_input, serve
from tests.text.reading import value_of, word_of

__all__ = ["PLACES", "Office", "Read", "the_office"]

NOTHING: Final = object()
"""What is read where a place does not show it whole."""


@dataclass(frozen=True)
class Read:
    """What somebody reads in a place.

    Attributes:
        text: all of it.
        approves: whether one can approve there.
        args: the arguments as they are read, as far as they are shown.
        asked_by: who asks, as it is read; None where the place does not say it.
    """

    text: str
    approves: bool
    args: Any = NOTHING
    asked_by: str | None = None


@dataclass
class Office:
    """Bridges whose agent asks for what a test wants, over HTTP and over pipes.

    Attributes:
        base: the URL of the one.
        bridge: it.
        piped: the pipes of the other.
        mailbox: what was mailed.
        mail: the port of its server.
        args: what the agent asks for, by thread.
        ran: with what the tool ran, by thread.
    """

    base: str
    bridge: Bridge
    piped: Pipes
    mailbox: Mailbox
    mail: int
    args: dict[str, Any] = field(default_factory=dict, repr=False)
    ran: dict[str, Any] = field(default_factory=dict, repr=False)
    replies: Any = None

    def thread(self, args: Mapping[str, Any]) -> str:
        """A new thread, in which the agent will ask for this."""
        thread = f"t{len(self.args)}"
        self.args[thread] = dict(args)
        return thread

    async def ask(self, args: Mapping[str, Any], asker: str) -> tuple[str, str]:
        """Have the agent ask; gives the thread, and the reference of its question."""
        thread = self.thread(args)
        headers = {"x-actor": quote(asker[:80])}
        async with httpx.AsyncClient(base_url=self.base, timeout=60, headers=headers) as http:
            answer = await http.post("/agents/ops", json=run_input("go", thread=thread))
        assert answer.status_code == 200, answer.text
        [row] = (await self.bridge.pending(READER, agent="ops", thread=thread)).rows
        return thread, row.ref

    async def close(self, reference: str) -> None:
        """Withdraw what waits."""
        await self.bridge.answer(reference, cancel=True, principal=READER)


READER: Final = Principal("default", "reader")


def _who(request: Request) -> Principal:
    return Principal("default", unquote(request.headers.get("x-actor", READER.actor)))


@asynccontextmanager
async def the_office() -> AsyncIterator[Office]:
    """Both bridges, and a mail server."""
    from aiosmtpd.controller import Controller

    mailbox, port = Mailbox(), free_port()
    mails = Controller(mailbox, hostname="127.0.0.1", port=port)
    mails.start()
    bridge, piped = Bridge(inbox=Inbox(keys=["k" * 32]), authenticate=_who), Bridge()
    (stdin, to_it), (from_it, stdout) = os.pipe(), os.pipe()
    office = Office("", bridge, Pipes(from_it, to_it), mailbox, port)

    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        args = office.args[run.thread_id]
        approval = await run.approve("pay", args, message="Pay?", metadata={"note": "no argument"})

        async def pay(**given: Any) -> str:
            office.ran[run.thread_id] = given
            return "paid"

        if approval.approved:
            await run.tool(approval, pay)
        yield "Done."

    for each in (bridge, piped):
        each.agent("ops")(ops)
    serving = asyncio.create_task(serve_stdio(piped, Pipes(stdin, stdout)))
    with os.fdopen(from_it, "rb") as office.replies:
        async with serve(bridge.app()) as office.base:
            # With one question alone a list has nothing to tick.
            for _ in range(2):
                await office.ask({"to": "bob"}, "ann")
            try:
                yield office
            finally:
                mails.stop()
                os.close(to_it)
                await serving
    os.close(stdin)
    os.close(stdout)


def _call(args: Mapping[str, Any], asker: str) -> Any:
    return notice(tool_call=ToolCall("c", "pay", dict(args)), asked_by=asker, message="Pay?")


def _line_of(facts: str) -> str:
    [found] = [line for line in facts.split("\n") if line.startswith("Asked for by: ")]
    return found.removeprefix("Asked for by: ")


def _read_json(text: str) -> Any:
    return NOTHING if text.endswith("…") else json.loads(text)


async def slack(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """A message in Slack."""
    title, _, shown, facts, buttons = notice_blocks(_call(args, asker), show_args=True)
    text = "\n".join(block["text"]["text"] for block in (title, shown, facts))
    asked_by = _line_of(facts["text"]["text"])
    pressed = [element["action_id"] for element in buttons["elements"]]
    return Read(
        text,
        "approve" in pressed,
        _read_json(shown["text"]["text"]),
        None if asked_by.endswith("…") else word_of(asked_by),
    )


async def teams(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """A card in Teams, which leads to the inbox."""
    content = card(_call(args, asker), show_args=True)["attachments"][0]["content"]
    shown = re.sub(r"\\(.)", r"\1", content["body"][-1]["text"], flags=re.DOTALL)
    assert [action["type"] for action in content["actions"]] == ["Action.OpenUrl"]
    return Read(shown, False, _read_json(shown))


async def mail(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """A mail, whose link leads to the question's page."""
    address = f"smtp://127.0.0.1:{office.mail}?starttls=never"
    people = {"bob": "bob@example.org"}
    await Smtp(address, "a@example.org", people, show_args=True).send(_call(args, asker))
    text = office.mailbox.mails.pop().get_content().replace("\r\n", "\n")
    _, facts, shown, decide, *_ = text.split("\n\n")
    assert decide.startswith("Decide here:\nhttps://agents.example/d/")
    return Read(text, False, _read_json(shown), word_of(_line_of(facts)))


async def terminal(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """The chat, in a terminal of 60 columns and 12 lines."""
    written, seen = io.StringIO(), []
    shown = Terminal(written, is_terminal=True, width=60, height=12)

    def reads(prompt: str, prefill: str) -> str:
        text = click.unstyle(written.getvalue())
        written.seek(0)
        written.truncate()
        seen.append(text)
        assert text.count("\n") < 12 and all(_length(line) <= 60 for line in text.split("\n"))
        if "Enter: go on" in prompt:
            assert "[y]es" not in prompt
            return ""
        assert prompt.startswith("[y]es, [n]o, ")
        raise EOFError

    url, actor = f"{office.base}/agents/ops", {"x-actor": quote(asker[:80])}
    client = Client(url, thread_id=office.thread(args), headers=actor)
    async for _ in client.run("go"):
        pass
    with pytest.raises(EOFError):
        answer_all(client, Screen(shown, reads, has_reader=True))
    await client.aclose()
    lines = [line for line in "".join(seen).split("\n") if line.startswith("│")]
    start = lines.index("│ tool  pay") + 1
    read = json.loads("".join(line[2:] for line in lines[start:]))
    # A line that goes on below is one.
    return Read("".join(line[2:] for line in lines), True, read)


async def pipes(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """The lines that a parent process reads."""
    thread = office.thread(args)
    params = {"agent": "ops", **run_input("go", thread=thread)}
    request = {"jsonrpc": "2.0", "id": thread, "method": "agent.stream", "params": params}
    line = json.dumps(request).encode() + b"\n"

    def talk() -> list[dict[str, Any]]:
        os.write(office.piped.stdout, line)
        found: list[dict[str, Any]] = []
        while not found or "result" not in found[-1]:
            found.append(json.loads(office.replies.readline()))
            assert "error" not in found[-1], found[-1]
        return found

    told = json.dumps(await asyncio.to_thread(talk))
    events = re.findall(r'"type": "TOOL_CALL_ARGS", .*?"delta": ("(?:[^"\\]|\\.)*")', told)
    return Read("", True, json.loads("".join(json.loads(delta) for delta in events)))


class _Arguments(HTMLParser):
    """The first list of arguments of a page, or of one question of a list, as it is seen.

    The end of a line is a blank where no `pre` is, and none behind its start; what is folded is not
    seen.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pairs: list[list[str]] = []
        self.asked_by: str | None = None
        self._lists = self._folded = 0
        self._inside: str | None = None
        self._pre = self._begins = False
        self._words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._lists += tag == "dl"
        if tag == "details" and "open" not in given:
            self._folded += 1
        if tag in ("dt", "dd") and self._lists == 1:
            self._inside, self._words, self._pre = tag, [], False
        if tag == "pre":
            self._pre, self._begins, self._words = True, True, []
        if tag == "b" and self.asked_by is None and self._words[-1:] == ["Asked by"]:
            self._inside, self._words = "b", []
        elif tag == "span":
            self._words = [] if self._inside is None else self._words

    def handle_endtag(self, tag: str) -> None:
        self._folded -= tag == "details" and self._folded > 0
        self._lists += 9 * (tag == "dl")
        if tag != self._inside:
            return
        text = "".join(self._words)
        text = text if self._pre else " ".join(re.split("[ \t\n\f\r]+", text)).strip(" ")
        if tag == "dt":
            self.pairs.append([text, ""])
        elif tag == "dd":
            self.pairs[-1][1] = text
        else:
            self.asked_by = text
        self._inside, self._words, self._pre = None, [], False

    def handle_data(self, data: str) -> None:
        if self._begins:
            data = data.removeprefix("\n")
        self._begins = False
        if not self._folded and (self._inside or data.strip()):
            self._words.append(data)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments, as they are read."""
        return {word_of(name): value_of(value) for name, value in self.pairs}


def _seen(text: str, approves: bool) -> Read:
    found = _Arguments(text)
    assert found.asked_by is not None
    args = found.args if approves else NOTHING
    return Read(re.sub(r'="[^"]*"', "", text), approves, args, word_of(found.asked_by))


async def page(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """A question's page in the inbox, where it is approved then: that is what runs."""
    thread, reference = await office.ask(args, asker)
    async with Person(office.base) as reader:
        shown = await reader.look(f"/inbox/{reference}")
        await reader.press(shown, "Approve")
    assert _same(office.ran[thread], args)
    return _seen(shown.response.text, approves=True)


async def listed(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """A question in the inbox's list, where several are ticked and approved."""
    _, reference = await office.ask(args, asker)
    async with Person(office.base) as reader:
        whole = (await reader.look()).response.text
    await office.close(reference)
    [shown] = [item for item in whole.split('<li class="card row">') if reference in item]
    return _seen(shown, approves='type="checkbox"' in shown)


async def command(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """`agui-bridge inbox answer --approve`, which prints what it lets run."""
    thread, reference = await office.ask(args, asker)
    given = ["inbox", "answer", office.base, reference, "--approve"]
    told = await asyncio.to_thread(CliRunner().invoke, app, given, prog_name="agui-bridge")
    assert told.exit_code == 0, told.stderr
    assert _same(office.ran[thread], args)
    rows = {line[:12].strip(): line[12:] for line in reversed(told.stderr.splitlines())}
    return Read(told.stderr, True, json.loads(rows["arguments"]), word_of(rows["asked by"]))


async def lines(office: Office, args: Mapping[str, Any], asker: str) -> Read:
    """`agui-bridge inbox list`, which says where it is cut and what shows the rest."""
    thread, reference = await office.ask(args, asker)
    given = ["inbox", "list", office.base, "--thread", thread]
    told = await asyncio.to_thread(CliRunner().invoke, app, given, prog_name="agui-bridge")
    await office.close(reference)
    first = told.stdout.splitlines()[0]
    said = f"All of one: agui-bridge inbox show {office.base} REF" in told.stdout
    assert said is first.endswith("…")
    return Read(told.stdout, False, _read_json(first.removeprefix("pay ")))


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


PLACES: Final[Mapping[str, Callable[[Office, Mapping[str, Any], str], Awaitable[Read]]]] = {
    "Slack": slack,
    "Teams": teams,
    "mail": mail,
    "the terminal": terminal,
    "stdio": pipes,
    "the inbox's page": page,
    "the inbox's list": listed,
    "inbox answer": command,
    "inbox list": lines,
}
