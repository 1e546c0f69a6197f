"""What the terminal chat shows: the events of a run, questions, and what went wrong."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import click
from ag_ui.core import Interrupt

from agui_bridge.client import Client
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.previews import Preview, read_preview
from agui_bridge.terminal import Terminal, paint
from agui_bridge.text.shown import (
    GOES_ON,
    STALE,
    isolated,
    shown_json,
    shown_json_text,
    shown_line,
    shown_lines,
    shown_name,
    shown_word,
)
from agui_bridge.text.visible import open_end, visible

# --- JSON that somebody types ---


def read_json(text: str) -> Any:
    """The value that a text is.

    Args:
        text: JSON, as somebody typed it.

    Raises:
        ValueError: it is none, or holds what no agent takes, such as NaN, or a name twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if fault := find_forbidden(value):
        raise ValueError(fault)
    return value


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # The last one would count, and whoever reads the line may have seen the first.
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twice}" stands there twice')
    return members


# --- lines that somebody types: with what stands there already, or in an editor of theirs ---

readline: Any
try:
    import readline
except ImportError:  # Python on Windows has none: there lines begin empty.
    readline = None

termios: Any
try:
    import termios
except ImportError:  # It has no such terminals either.
    termios = None


def read_line(prompt: str, prefill: str = "") -> str:
    """Read a line from a terminal, or a pipe.

    Args:
        prompt: what stands before it.
        prefill: what stands in it already, to be changed; only in a terminal.

    Raises:
        EOFError: the input ended.
    """
    if readline is None or not prefill or not sys.stdin.isatty():
        return input(prompt)
    readline.set_startup_hook(lambda: readline.insert_text(prefill))
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook()


def drop_typed_ahead() -> None:
    """Forget what was typed and not read: it was typed before a question stood there."""
    if termios is not None and sys.stdin.isatty():
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def has_editor() -> bool:
    """Whether somebody has said which editor is theirs, by `VISUAL` or `EDITOR`."""
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR")) and sys.stdin.isatty()


def in_editor(text: str) -> str | None:
    """A text as it is left in the editor; None where it was not saved.

    Raises:
        click.ClickException: the editor can't be started, or failed, or left what is no text.
    """
    try:
        return click.edit(text, extension=".json")
    except UnicodeDecodeError:
        raise click.ClickException("what the editor saved is not UTF-8.") from None
    except OSError as error:
        raise click.ClickException(f"the editor left no file: {error.strerror}.") from None
    except ValueError as error:
        # An unclosed quote, for one.
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        raise click.ClickException(f"the editor {editor!r} can't be started: {error}") from None
    finally:
        # What was typed while it was there was meant for it.
        drop_typed_ahead()


# --- the screen ---

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


def preview_of(interrupt: Interrupt) -> Preview | None:
    """What the call would do, where it is told in words that are known here."""
    told = _told_preview(interrupt)
    try:
        return None if told is None else read_preview(told)
    except AgentMistake:
        return None


def _told_preview(interrupt: Interrupt) -> Any:
    own = (interrupt.metadata or {}).get("agui_bridge")
    return own.get("preview") if isinstance(own, Mapping) else None


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
            parts.append(f"{paint('tool', 'dim')}  {paint(shown_name(name), 'cyan', 'bold')}")
            if agreed is not None:
                parts.append(paint("changed by whoever has agreed so far", "yellow"))
            if (asker := _asked_by(interrupt)) is not None:
                parts.append(f"{paint('asked for by', 'dim')}  {shown_word(asker)}")
            parts.append(_pretty(arguments if agreed is None else agreed))
            parts += _previewed(interrupt, stale=agreed is not None)
        elif interrupt.metadata:
            parts.append(_pretty(interrupt.metadata))
        if interrupt.expires_at:
            parts.append(paint(visible(f"expires at {interrupt.expires_at}"), "dim"))
        title = "May this run?" if is_approval(client, interrupt) else "A question"
        if interrupt.reason not in ("tool_call", "input_required", "confirmation"):
            title += f" ({shown_line(interrupt.reason)})"
        shown = "\n".join(parts or [visible(interrupt.reason)])
        return self._framed(f"{title}{position}", shown)

    def whole_call(self, name: str, arguments: str) -> Unread:
        """Show all of a call that a person carries out."""
        self._break()
        try:
            told = read_json(arguments or "{}")
        except ValueError:
            told = arguments
        return self._framed(shown_name(name), _pretty(told))

    def _framed(self, title: str, shown: str) -> Unread:
        lines, heading = shown.split("\n"), paint(title, "yellow", "bold")
        if not self._has_reader:
            self._terminal.frame(heading, lines, "yellow")
            return Unread(self._terminal, [])
        lines = self._terminal.framed_lines(lines, goes_on=GOES_ON)
        room = max(self._terminal.height - _AROUND, _FEWEST)
        pages = [lines[at : at + room] for at in range(0, len(lines), room)]
        self._terminal.frame(heading, pages[0], "yellow", ends=len(pages) == 1)
        return Unread(self._terminal, pages)

    def _call(self, name: str, arguments: str) -> None:
        # An approval shows all of them.
        self.say_shown(paint(f"⚙ {shown_name(name)}({shown_json_text(_short(arguments))})", "cyan"))

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


_COLOURS: Final[Mapping[str, tuple[str, ...]]] = {
    **{"added": ("green",), "removed": ("red",), "place": ("cyan",), "cut": ("yellow",)},
    **dict.fromkeys(("head", "note", "nothing"), ("dim",)),
    **dict.fromkeys(("path", "folder"), ("bold",)),
}


def _previewed(interrupt: Interrupt, *, stale: bool) -> list[str]:
    """What the call would do, line by line."""
    preview, told = preview_of(interrupt), _told_preview(interrupt)
    if told is None:
        return []
    lines = [paint("what it would do", "dim"), *([paint(STALE, "yellow")] if stale else [])]
    if preview is None:
        return [*lines, _pretty(told)]
    for kind, text in shown_lines(preview):
        lines.append(paint(text, *_COLOURS.get(kind, ())))
    return lines


def _pretty(value: Any) -> str:
    return isolated(visible(value)) if isinstance(value, str) else shown_json(value, indent=2)


def _short(text: Any) -> str:
    said = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"
