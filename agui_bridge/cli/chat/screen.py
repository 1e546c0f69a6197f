"""What the terminal chat shows: the events of a run, questions, and what went wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.cli.chat.lines import read_line
from agui_bridge.cli.chat.typed_json import read_json
from agui_bridge.client import Client
from agui_bridge.terminal import Terminal, paint
from agui_bridge.text.visible import (
    open_end,
    visible,
    visible_json,
    visible_json_text,
    visible_line,
    visible_name,
    visible_word,
)

__all__ = ["Screen", "Unread", "agreed_arguments", "is_approval", "proposal_of"]

_LONGEST: Final = 400
_AROUND: Final = 4
"""Lines of a screen that its frame and the prompt take."""

_FEWEST: Final = 3
_SAID: Final = 40
"""Characters before a piece of a text that say how it is shown."""

_RECENT: Final = 10
"""Messages of a thread that is gone on with that are shown."""


def agreed_arguments(interrupt: Interrupt) -> Mapping[str, Any] | None:
    """The arguments that others have agreed to so far, if they changed them."""
    own = (interrupt.metadata or {}).get("agui_bridge")
    approval = own.get("approval") if isinstance(own, Mapping) else None
    agreed = approval.get("editedArgs") if isinstance(approval, Mapping) else None
    return agreed if isinstance(agreed, Mapping) else None


def proposal_of(client: Client, interrupt: Interrupt) -> tuple[str, Any] | None:
    """The name and the arguments of the tool call that a question is about."""
    call = client.tool_call(interrupt.tool_call_id)
    if call is not None:
        function = call["function"]
        try:
            return function["name"], read_json(function["arguments"] or "{}")
        except ValueError:
            return function["name"], function["arguments"]
    proposal = (interrupt.metadata or {}).get("proposal")
    if isinstance(proposal, Mapping):
        return str(proposal.get("tool")), proposal.get("args")
    return None


def is_approval(client: Client, interrupt: Interrupt) -> bool:
    """Whether a question is if its tool call may run; others may belong to a call, too."""
    if proposal_of(client, interrupt) is None:
        return False
    schema = interrupt.response_schema
    if schema is None:
        return True
    offered = schema.get("properties")
    return isinstance(offered, Mapping) and "approved" in offered


def _asked_by(interrupt: Interrupt) -> str | None:
    """For whom the run asks, where the bridge tells it."""
    own = (interrupt.metadata or {}).get("agui_bridge")
    approval = own.get("approval") if isinstance(own, Mapping) else None
    asker = approval.get("askedBy") if isinstance(approval, Mapping) else None
    return asker if isinstance(asker, str) and asker else None


class Unread:
    """What did not fit on the screen of a question, screen by screen.

    Args:
        terminal: where to write.
        pages: the lines of each screen, of which the first is shown already.
    """

    def __init__(self, terminal: Terminal, pages: Sequence[Sequence[str]]) -> None:
        self._terminal = terminal
        self._pages = pages
        self._shown = 1

    def __bool__(self) -> bool:
        return self._shown < len(self._pages)

    @property
    def place(self) -> str:
        """How far one has read."""
        return f"screen {self._shown} of {len(self._pages)}"

    def show_next(self) -> None:
        """Show the next screen."""
        page = self._pages[self._shown]
        self._shown += 1
        self._terminal.frame("", page, "yellow", begins=False, ends=not self)


class Screen:
    """A terminal, or a pipe.

    Args:
        terminal: where to write.
        ask: reads a line after a prompt, with a text in it to begin with; raises EOFError at the
            end of the input.
        has_reader: whether somebody reads what is shown, and types; None asks the system.
    """

    def __init__(
        self,
        terminal: Terminal,
        ask: Callable[[str, str], str] = read_line,
        *,
        has_reader: bool | None = None,
    ) -> None:
        self._terminal = terminal
        self._ask = ask
        reads = terminal.is_terminal and sys.stdin.isatty()
        self._has_reader = reads if has_reader is None else has_reader
        self._calls: dict[str, list[str]] = {}
        self._in_text = False
        self._held = ""
        self._said = ""

    def read(self, prompt: str, prefill: str = "") -> str:
        """Ask for a line, which may have a text in it already."""
        self._break()
        try:
            return self._ask(prompt, prefill)
        except (EOFError, KeyboardInterrupt):
            # The cursor stands behind the prompt.
            self._terminal.say()
            raise

    def say_shown(self, text: str) -> None:
        """Say a line that is visible already."""
        self._break()
        self._terminal.say(text)

    def table(self, rows: Iterable[Sequence[str]], head: Sequence[str]) -> None:
        """Show rows of cells that are visible."""
        self._break()
        self._terminal.table(rows, head=head)

    def note(self, text: str, colour: str = "dim") -> None:
        """Say a line of the chat's own."""
        self.say_shown(paint(visible(text), colour))

    def fail(self, text: str) -> None:
        """Say what went wrong."""
        self._break()
        self._terminal.say(f"{paint('error', 'red', 'bold')}: {visible(text)}")

    def show(self, event: Mapping[str, Any]) -> None:
        """Show one event of a run; most have nothing to be seen."""
        kind = event["type"]
        if kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
            colour = ("dim", "italic") if kind.startswith("REASONING") else ()
            self._terminal.say(paint(self._whole(event["delta"]), *colour), end="")
            self._in_text = True
        elif kind == "TOOL_CALL_START":
            self._calls[event["toolCallId"]] = [event["toolCallName"], ""]
        elif kind == "TOOL_CALL_ARGS":
            self._calls.get(event["toolCallId"], ["", ""])[1] += event["delta"]
        elif kind == "TOOL_CALL_END":
            self._call(*self._calls.pop(event["toolCallId"], ("", "")))
        elif kind == "TOOL_CALL_RESULT":
            self.note(f"  → {_short(event['content'])}", "cyan")
        elif kind in ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END", "RUN_FINISHED", "RUN_ERROR"):
            self._break()

    def conversation(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Show the last messages of a thread."""
        if len(messages) > _RECENT:
            self.note(f"… {len(messages) - _RECENT} earlier messages")
        for message in messages[-_RECENT:]:
            content = message.get("content")
            said = content if isinstance(content, str) else ""
            if message["role"] == "user":
                self._terminal.say(paint(f"you > {visible(said)}", "bold"))
            elif message["role"] == "tool":
                self.note(f"  → {_short(said)}", "cyan")
            elif said:
                self._terminal.say(visible(said))
            for call in message.get("toolCalls") or ():
                self._call(call["function"]["name"], call["function"]["arguments"])

    def question(self, client: Client, interrupt: Interrupt, position: str) -> Unread:
        """Show what is asked: the message, the tool and its whole arguments, until when.

        Gives what there was no room for on one screen.
        """
        self._break()
        parts: list[str] = []
        if interrupt.message:
            parts.append(visible(interrupt.message))
        proposal = proposal_of(client, interrupt)
        if proposal is not None:
            name, arguments = proposal
            agreed = agreed_arguments(interrupt)
            parts.append(f"{paint('tool', 'dim')}  {paint(visible_name(name), 'cyan', 'bold')}")
            if agreed is not None:
                parts.append(paint("changed by whoever has agreed so far", "yellow"))
            if (asker := _asked_by(interrupt)) is not None:
                parts.append(f"{paint('asked for by', 'dim')}  {visible_word(asker)}")
            parts.append(_pretty(arguments if agreed is None else agreed))
        elif interrupt.metadata:
            parts.append(_pretty(interrupt.metadata))
        if interrupt.expires_at:
            parts.append(paint(visible(f"expires at {interrupt.expires_at}"), "dim"))
        title = "May this run?" if is_approval(client, interrupt) else "A question"
        if interrupt.reason not in ("tool_call", "input_required", "confirmation"):
            title += f" ({visible_line(interrupt.reason)})"
        shown = "\n".join(parts or [visible(interrupt.reason)])
        return self._framed(f"{title}{position}", shown)

    def whole_call(self, name: str, arguments: str) -> Unread:
        """Show all of a call that a person carries out."""
        self._break()
        try:
            told = read_json(arguments or "{}")
        except ValueError:
            told = arguments
        return self._framed(visible_name(name), _pretty(told))

    def _framed(self, title: str, shown: str) -> Unread:
        lines, heading = shown.split("\n"), paint(title, "yellow", "bold")
        if not self._has_reader:
            self._terminal.frame(heading, lines, "yellow")
            return Unread(self._terminal, [])
        lines = self._terminal.framed_lines(lines)
        room = max(self._terminal.height - _AROUND, _FEWEST)
        pages = [lines[at : at + room] for at in range(0, len(lines), room)]
        self._terminal.frame(heading, pages[0], "yellow", ends=len(pages) == 1)
        return Unread(self._terminal, pages)

    def _call(self, name: str, arguments: str) -> None:
        # An approval shows all of them.
        self.say_shown(
            paint(f"⚙ {visible_name(name)}({visible_json_text(_short(arguments))})", "cyan")
        )

    def _whole(self, piece: str) -> str:
        """A piece of a text, whose end waits for the next one if that says how it is shown."""
        text = self._held + piece
        end = open_end(text)
        self._held = text[end:]
        return self._after(text[:end])

    def _after(self, text: str) -> str:
        """A text as it is shown after what was said before: both may be parts of one emoji."""
        # Halves of a character become one; a half alone is none.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        before, self._said = self._said, (self._said + text)[-_SAID:]
        return visible(before + text)[len(visible(before)) :]

    def _break(self) -> None:
        if self._in_text:
            self._terminal.say(self._after(self._held.strip("\r")))
            self._in_text, self._held, self._said = False, "", ""


def _pretty(value: Any) -> str:
    return visible(value) if isinstance(value, str) else visible_json(value, indent=2)


def _short(text: Any) -> str:
    said = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"
