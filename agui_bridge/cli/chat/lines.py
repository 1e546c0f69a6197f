"""Lines that somebody types: with what stands there already, or in an editor of theirs."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import click

__all__ = ["drop_typed_ahead", "has_editor", "in_editor", "read_line"]

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
