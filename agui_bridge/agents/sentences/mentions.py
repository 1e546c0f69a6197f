"""Tells a request from a mere mention of its words: "users must always confirm before they delete".

This decides whether a card is shown, and nothing else: what follows a mention is held as well
(`excuses` says what is not), and asked about when something would be carried out.

A phrase is only mentioned when the words around it, within its line, say so: it is quoted
from somebody, denied, told of others or of the past, part of another question, or the name of a
button; or the end of a sentence goes through it. The rules are narrow: where both can be read, it
is a request. So a quotation that the speaker introduces as its own ("Let me ask: “Shall I
proceed?”") asks.

How well this works on text that the rules were not made for is measured by
tests/agents/sentences/test_detection.py.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.phrase_in_sentence import NEAR, PhraseInSentence
from agui_bridge.agents.sentences.quotations import open_quote
from agui_bridge.agents.wording.following import AFTER
from agui_bridge.agents.wording.mention_rules import BEFORE
from agui_bridge.agents.wording.speakers import HEADINGS, OWN_WORDS, SPEAKER, TELLING

__all__ = ["is_mention"]

_QUOTED_LINE = re.compile(r">[\s>]*(?!\*\*|__|\[!)[\w\"'“‘「(\[`<-](?!.*\bI\b)")
"""A line of a block quotation, but not of a box ("> ⚠️ Please confirm") or the speaker's own."""

_LISTING = re.compile(
    r"\s*(?:[\w./-]+\.\w{1,5}:\d+:|msgid |msgstr |<!--|<\w+[ >]|//|/\*|\$ |>>> |"
    r"\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE)\]? |\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)"
)
"""A line of a search's result, of a program, of a log."""

_BROKEN = re.compile(r"(?<![.!?])[.!?](?![.!?])|[;；。！？｡]|\w[-/]\w")
"""In a phrase as it was said: the end of a sentence, or a name such as `are-you-sure`."""


def is_mention(place: PhraseInSentence) -> bool:
    """Whether a phrase seems to be mentioned, not meant."""
    before, after, phrase = place.before, place.after, place.phrase.casefold()
    line = (place.line + place.sentence)[: 2 * NEAR]
    written = place.sentence[max(0, place.start - NEAR) : place.start]
    return (
        place.for_others
        or (_BROKEN.search(place.said) is not None and _BROKEN.search(phrase) is None)
        or _QUOTED_LINE.match(line) is not None
        or _LISTING.match(line) is not None
        or any(rule.about.match(phrase) and rule.words.search(before) for rule in BEFORE)
        or any(rule.about.match(phrase) and rule.words.match(after) for rule in AFTER)
        or _is_quoted(place.lead)
        or _is_a_part((place.line + written) if place.start <= NEAR else written)
    )


def _is_quoted(before: str) -> bool:
    """Whether a quotation that is not the speaker's own holds what stands between the two."""
    opened = open_quote(before)
    if opened is None:
        return False
    place, _ = opened
    lead = before[:place].strip(" #>:,，：")
    return TELLING.search(lead) is not None or OWN_WORDS.search(lead) is None


def _is_a_part(before: str) -> bool:
    """Whether somebody of a play or a chat says it."""
    speaker = SPEAKER.search(before)
    name = speaker and (speaker["name"] or speaker["bold"] or speaker["role"])
    return name is not None and HEADINGS.fullmatch(name.lower()) is None
