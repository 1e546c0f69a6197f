"""A line at a question, and the words that end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from agui_bridge.cli.chat.screen import Screen, Unread, drop_typed_ahead

CANCEL: Final = "/cancel"
QUIT: Final = "/quit"
HELP: Final = f"""\
{CANCEL} answers a question with: nobody decided. {QUIT}, Ctrl-D and Ctrl-C leave it open."""

_WORDS: Final = (CANCEL, QUIT, "/help")
_ELSEWHERE: Final = dict.fromkeys(("/state", "/waiting"), "at the prompt you >")
_NEAR: Final = 0.75


class Withdrawn(Exception):
    """Somebody typed /cancel."""


def typed(screen: Screen, prompt: str, prefill: str = "") -> str:
    """Read a line at a question.

    Raises:
        Withdrawn: /cancel.
        EOFError: /quit, or the input ended.
    """
    before = None
    while True:
        said = screen.read(prompt, prefill).strip()
        if said == "/help":
            screen.note(HELP)
        elif said == CANCEL:
            raise Withdrawn
        elif said == QUIT:
            raise EOFError
        elif said == before or not is_slip(screen, said, _WORDS, _ELSEWHERE):
            return said
        before = said


def read_all(screen: Screen, unread: Unread, *, may_decline: bool = False) -> bool:
    """Show what did not fit, screen by screen: only then is an answer taken.

    Args:
        screen: where it is shown.
        unread: what did not fit.
        may_decline: whether a no is taken before, which needs no reading.

    Returns:
        Whether all was shown; else somebody said no.

    Raises:
        Withdrawn, EOFError: see `typed`.
    """
    keys = f"Enter: go on{', [n]o' if may_decline else ''}, [c]ancel"
    while unread:
        said = typed(screen, f"{unread.place}. {keys} > ").lower()
        if said in ("c", "cancel"):
            raise Withdrawn
        if said in ("n", "no") and may_decline:
            return False
        if said:
            refuse(screen.note, "Nothing was sent: there is more to read. Press Enter alone.")
            continue
        unread.show_next()
        drop_typed_ahead()
    return True


def refuse(tell: Callable[[str], None], told: str) -> None:
    """Say why a line was not taken, and forget what was typed or pasted behind it.

    Args:
        tell: `note` or `fail` of a screen.
        told: why, and what to type.
    """
    drop_typed_ahead()
    tell(told)


def is_slip(screen: Screen, said: str, words: Iterable[str], elsewhere: Mapping[str, str]) -> bool:
    """Whether a line was meant for a command, and is none here; it is told so.

    Args:
        screen: where it is told.
        said: the line.
        words: the commands that there are.
        elsewhere: those that there are only elsewhere, and where.
    """
    near = said.startswith("/") and get_close_matches(said.lower(), [*words, *elsewhere], 1, _NEAR)
    if not near:
        return False
    [word] = near
    meant = f"{word} works {elsewhere[word]}." if word in elsewhere else f"Did you mean {word}?"
    refuse(screen.note, f"Nothing was sent. {meant} The same line again is sent as it is.")
    return True
