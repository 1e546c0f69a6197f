"""Every place where people read a call, and what they read there beside what approves it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, unquote

import click
import httpx
import pytest
from click.testing import CliRunner
from starlette.requests import Request

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.acp.questions import request_of
from agui_bridge.channels.slack import notice_blocks
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.webhooks import card
from agui_bridge.cli import app
from agui_bridge.cli.chat.questions import answer_all
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import Client
from agui_bridge.inbox import Inbox
from agui_bridge.mcp_server.elicitations import form_of
from agui_bridge.protocol.previews import Preview, read_preview
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.stdio.lines import Pipes
from agui_bridge.stdio.server import serve_stdio
from agui_bridge.terminal import Terminal, _length
from agui_bridge.text.shown import GOES_ON, shown_preview
from tests.channels.bridges import notice
from tests.channels.receivers import Mailbox
from tests.http.inbox.pages import Person
from tests.shown.html import ArgumentsRead
from tests.shown.previews import rows_read
from tests.support.ports import free_port
from tests.support.server import run_input, serve
from tests.text.reading import logical, word_of

__all__ = ["PLACES", "Office", "Read", "the_office"]

WOULD: Final = "What it would do:\n"
NOTHING: Final = object()
"""What is read where a place does not show it whole."""


@dataclass(frozen=True)
class Read:
    """What somebody reads in a place.

    Attributes:
        text: all of it.
        shown: the arguments, the tool and the asker as the place draws them, each on its lines.
        preview: what the call would do, as the place draws it.
        approves: whether one can approve there.
        args: the arguments as they are read, as far as they are shown.
        asked_by: who asks, as it is read; None where the place does not say it.
    """

    text: str
    approves: bool
    args: Any = NOTHING
    asked_by: str | None = None
    shown: str = ""
    preview: str = ""


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
        previews: what it would do, by thread.
    """

    base: str
    bridge: Bridge
    piped: Pipes
    mailbox: Mailbox
    mail: int
    args: dict[str, Any] = field(default_factory=dict, repr=False)
    ran: dict[str, Any] = field(default_factory=dict, repr=False)
    previews: dict[str, Preview | None] = field(default_factory=dict, repr=False)
    replies: Any = None

    def thread(self, args: Mapping[str, Any], preview: Preview | None) -> str:
        """A new thread, in which the agent will ask for this."""
        thread = f"t{len(self.args)}"
        self.previews[thread] = preview
        self.args[thread] = dict(args)
        return thread

    async def ask(
        self, args: Mapping[str, Any], asker: str, preview: Preview | None = None
    ) -> tuple[str, str]:
        """Have the agent ask; gives the thread, and the reference of its question."""
        thread = self.thread(args, preview)
        headers = {"x-actor": quote(asker[:80])}
        async with httpx.AsyncClient(base_url=self.base, timeout=60, headers=headers) as http:
            answer = await http.post("/agents/ops", json=run_input("go", thread=thread))
        assert answer.status_code == 200, answer.text
        return thread, await self.reference(thread)

    async def reference(self, thread: str) -> str:
        """The reference of the question that a thread asks."""
        [row] = (await self.bridge.pending(READER, agent="ops", thread=thread)).rows
        return row.ref

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
        approval = await run.approve(
            "pay",
            args,
            message="Pay?",
            metadata={"note": "no argument"},
            preview=office.previews[run.thread_id],
        )

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


def _call(args: Mapping[str, Any], asker: str, preview: Preview | None) -> Any:
    call = ToolCall("c", "pay", dict(args))
    return notice(tool_call=call, asked_by=asker, message="Pay?", preview=preview)


def _line_of(facts: str) -> str:
    [found] = [line for line in facts.split("\n") if line.startswith("Asked for by: ")]
    return found.removeprefix("Asked for by: ")


def _read_json(text: str) -> Any:
    return NOTHING if text.endswith("…") else json.loads(logical(text))


async def slack(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A message in Slack."""
    title, _, shown, *would, facts, buttons = notice_blocks(
        _call(args, asker, preview), show_args=True
    )
    text = "\n".join(block["text"]["text"] for block in (title, shown, *would, facts))
    asked_by = _line_of(facts["text"]["text"])
    pressed = [element["action_id"] for element in buttons["elements"]]
    return Read(
        text,
        "approve" in pressed,
        _read_json(shown["text"]["text"]),
        None if asked_by.endswith("…") else word_of(asked_by),
        "\n".join((title["text"]["text"], shown["text"]["text"], facts["text"]["text"])),
        "".join(block["text"]["text"] for block in would),
    )


async def teams(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A card in Teams, which leads to the inbox."""
    content = card(_call(args, asker, preview), show_args=True)["attachments"][0]["content"]
    texts = [it["text"] for it in content["body"] if it.get("fontType") == "Monospace"]
    shown, *would = (re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for text in texts)
    assert [action["type"] for action in content["actions"]] == ["Action.OpenUrl"]
    return Read(shown, False, _read_json(shown), shown=shown, preview="".join(would))


async def mail(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A mail, whose link leads to the question's page."""
    address = f"smtp://127.0.0.1:{office.mail}?starttls=never"
    people = {"bob": "bob@example.org"}
    await Smtp(address, "a@example.org", people, show_args=True).send(_call(args, asker, preview))
    text = office.mailbox.mails.pop().get_content().replace("\r\n", "\n")
    before, _, decide = text.partition("\n\nDecide here:\n")
    assert decide.startswith("https://agents.example/d/")
    before, _, would = before.partition(f"\n\n{WOULD}")
    _, facts, shown = before.split("\n\n")
    asked_by = word_of(_line_of(facts))
    return Read(text, False, _read_json(shown), asked_by, f"{facts}\n{shown}", would)


async def terminal(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
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
    client = Client(url, thread_id=office.thread(args, preview), headers=actor)
    async for _ in client.run("go"):
        pass
    with pytest.raises(EOFError):
        answer_all(client, Screen(shown, reads, has_reader=True))
    await client.aclose()
    lines = [line for line in "".join(seen).split("\n") if line.startswith("│")]
    # A line that goes on below is one.
    text = "\n".join(line[2:] for line in lines).replace(f"\u2069\n{GOES_ON}\u2068", "")
    text = text.replace(f"\n{GOES_ON}", "")
    told, _, would = text.partition("\nwhat it would do\n")
    _, _, drawn = told.partition("tool  pay\n")
    return Read(text, True, json.loads(logical(drawn)), shown="\n".join(lines), preview=would)


async def pipes(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """The lines that a parent process reads."""
    thread = office.thread(args, preview)
    params = {"agent": "ops", **run_input("go", thread=thread)}
    told = json.dumps(await asyncio.to_thread(_talk, office, "agent.stream", thread, params))
    events = re.findall(r'"type": "TOOL_CALL_ARGS", .*?"delta": ("(?:[^"\\]|\\.)*")', told)
    read = json.loads("".join(json.loads(delta) for delta in events))
    found = re.search(r'"agui_bridge": (\{"preview": \{.*?[^\\]"cut": (?:true|false)\})', told)
    would = shown_preview(read_preview(json.loads(f"{found[1]}}}")["preview"])) if found else ""
    return Read("", True, read, preview=would)


def _talk(office: Office, method: str, id: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Send a request to the process; gives the lines that answer it."""
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    os.write(office.piped.stdout, json.dumps(request).encode() + b"\n")
    found: list[dict[str, Any]] = []
    while not found or not {"result", "error"} & found[-1].keys():
        found.append(json.loads(office.replies.readline()))
    return found


def _said(question: Mapping[str, Any]) -> Read:
    """A question that says its call."""
    call, _, words = question["message"].partition("\nAsked for by: ")
    asked_by, _, said = words.partition("\n\n")
    call, _, would = call.partition(f"\n{WOULD}")
    tool, _, shown = call.partition("\n")
    assert (tool, said) == ("pay", "Pay?")
    message = question["message"]
    return Read(message, True, _read_json(shown), word_of(asked_by), message, would)


async def told(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """What a page is told that asks for calls in words, such as the playground."""
    thread, headers = office.thread(args, preview), {"x-actor": quote(asker[:80])}
    async with httpx.AsyncClient(base_url=office.base, timeout=60, headers=headers) as http:
        body = run_input("go", thread=thread)
        answer = await http.post("/agents/ops?refusals=ask&tell=calls", json=body)
        [question] = _told_last(answer.text)
        # What is refused is asked again.
        wrong = [{"interruptId": question["id"], "status": "resolved", "payload": 5}]
        answer = await http.post(
            "/agents/ops?refusals=ask&tell=calls",
            json={**body, "runId": "again", "messages": [], "resume": wrong},
        )
    [again] = _told_last(answer.text)
    await office.close(await office.reference(thread))
    assert again["message"].endswith(question["message"])
    return _said(question)


def _told_last(text: str) -> list[dict[str, Any]]:
    *_, last = (line for line in text.split("\n") if line.startswith("data: "))
    found: list[dict[str, Any]] = json.loads(last.removeprefix("data: "))["outcome"]["interrupts"]
    return found


async def printed(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """What a parent process prints that asks for calls in words; it names who asks."""
    thread = office.thread(args, preview)
    params = {"user_id": "ann", "session_id": thread, "messages": "go", "tell": "calls"}
    answers = await asyncio.to_thread(_talk, office, "agent.query", thread, params)
    [question] = answers[-1]["error"]["data"]["outcome"]["interrupts"]
    read = _said(question)
    assert read.asked_by == "ann"
    return replace(read, asked_by=None)


async def editor(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A permission request in an editor, whose code block nothing in it ends."""
    thread, reference = await office.ask(args, asker, preview)
    [row] = (await office.bridge.pending(READER, agent="ops", thread=thread)).rows
    request = request_of(row.row.interrupt, forms=False)
    await office.close(reference)
    assert request is not None and "approve" in request.answers
    asked: Any = request.params["toolCall"]
    call, said = (block["content"]["text"] for block in asked["content"])
    assert said == "Pay?"
    fence, *lines = call.split("\n")
    assert lines.pop() == fence and not any(line.startswith(fence) for line in lines)
    return _said({"message": "\n".join(lines) + "\n\nPay?"})


async def chat(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """What the chat API tells of a question, which SuperAgent's pages show beside its fields."""
    thread, reference = await office.ask(args, asker, preview)
    session = {"agent_id": "ops", "session_id": thread}
    async with httpx.AsyncClient(base_url=office.base, timeout=60) as http:
        state = (await http.get("/api/v1/chat/interrupt_state", params=session)).json()["state"]
    await office.close(reference)
    said, _, shown = state["reason"].partition("\n")
    assert said == "Pay?"
    call, _, would = shown.partition(f"\n{WOULD}")
    args = _read_json(call.removeprefix("pay "))
    return Read(state["reason"], True, args, shown=shown, preview=would)


def _seen(text: str, approves: bool) -> Read:
    found = ArgumentsRead(text)
    assert found.asked_by is not None
    args = found.args if approves else NOTHING
    drawn = "\n".join("\n".join(pair) for pair in found.pairs)
    text = re.sub(r'="[^"]*"', "", text)
    return Read(
        text,
        approves,
        args,
        word_of(found.asked_by),
        drawn,
        "".join(found.preview).removesuffix("\n"),
    )


async def page(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A question's page in the inbox, where it is approved then: that is what runs."""
    thread, reference = await office.ask(args, asker, preview)
    async with Person(office.base) as reader:
        shown = await reader.look(f"/inbox/{reference}")
        await reader.press(shown, "Approve")
    assert _same(office.ran[thread], args)
    return _seen(shown.response.text, approves=True)


async def listed(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """A question in the inbox's list, where several are ticked and approved."""
    _, reference = await office.ask(args, asker, preview)
    async with Person(office.base) as reader:
        whole = (await reader.look()).response.text
    await office.close(reference)
    [shown] = [item for item in whole.split('<li class="card row">') if reference in item]
    return _seen(shown, approves='type="checkbox"' in shown)


async def command(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """`agui-bridge inbox answer --approve`, which prints what it lets run."""
    thread, reference = await office.ask(args, asker, preview)
    given = ["inbox", "answer", office.base, reference, "--approve"]
    told = await asyncio.to_thread(CliRunner().invoke, app, given, prog_name="agui-bridge")
    assert told.exit_code == 0, told.stderr
    assert _same(office.ran[thread], args)
    rows = {line[:12].strip(): line[12:] for line in reversed(told.stderr.splitlines())}
    args = json.loads(logical(rows["arguments"]))
    would = rows_read(told.stderr)
    return Read(told.stderr, True, args, word_of(rows["asked by"]), told.stderr, would)


async def lines(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """`agui-bridge inbox list`, which says where it is cut and what shows the rest."""
    thread, reference = await office.ask(args, asker, preview)
    given = ["inbox", "list", office.base, "--thread", thread]
    told = await asyncio.to_thread(CliRunner().invoke, app, given, prog_name="agui-bridge")
    await office.close(reference)
    first = told.stdout.splitlines()[0]
    said = f"All of one: agui-bridge inbox show {office.base} REF" in told.stdout
    assert said is first.endswith("…")
    return Read(told.stdout, False, _read_json(first.removeprefix("pay ")), shown=told.stdout)


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


async def elicited(
    office: Office, args: Mapping[str, Any], asker: str, preview: Preview | None = None
) -> Read:
    """What an MCP client shows in a window of its own, if it is asked there at all."""
    thread, reference = await office.ask(args, asker, preview)
    [row] = (await office.bridge.pending(READER, agent="ops", thread=thread)).rows
    form = form_of(row.row.interrupt)
    await office.close(reference)
    if form is None:
        return Read("", False)
    before, _, said = form.message.partition("\n\nAsked for by: ")
    before, _, would = before.partition(f"\n\n{WOULD}\n")
    would = "\n".join(line.removeprefix("    ") for line in would.split("\n"))
    head, tool, *lines = before.removeprefix("This would run:\n").split("\n")
    assert (head, tool) == ("", "    pay") and all(line.startswith("    ") for line in lines)
    asked_by, _, words = said.partition("\n\n")
    assert words == "The agent says: Pay?"
    shown = "\n".join(line[4:] for line in lines)
    return Read(form.message, True, _read_json(shown), word_of(asked_by), shown, would)


Place = Callable[[Office, Mapping[str, Any], str, Preview | None], Awaitable[Read]]
PLACES: Final[Mapping[str, Place]] = {
    "Slack": slack,
    "Teams": teams,
    "mail": mail,
    "the terminal": terminal,
    "stdio": pipes,
    "stdio, in words": printed,
    "the playground's question": told,
    "an editor": editor,
    "the chat API": chat,
    "an MCP client": elicited,
    "the inbox's page": page,
    "the inbox's list": listed,
    "inbox answer": command,
    "inbox list": lines,
}
