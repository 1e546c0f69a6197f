"""A line at a question, and the words that end it."""

from __future__ import annotations

from typing import Final

from agui_bridge.cli.chat.screen import Screen

__all__ = ["CANCEL", "HELP", "QUIT", "Withdrawn", "typed"]

CANCEL: Final = "/cancel"
QUIT: Final = "/quit"
HELP: Final = f"""\
{CANCEL} answers a question with: nobody decided. {QUIT}, Ctrl-D and Ctrl-C leave it open."""


class Withdrawn(Exception):
    """Somebody typed /cancel."""


def typed(screen: Screen, prompt: str, prefill: str = "") -> str:
    """Read a line at a question.

    Raises:
        Withdrawn: /cancel.
        EOFError: /quit, or the input ended.
    """
    while (said := screen.read(prompt, prefill).strip()) == "/help":
        screen.note(HELP)
    if said == CANCEL:
        raise Withdrawn
    if said == QUIT:
        raise EOFError
    return said
