"""Tells a request from a mere mention of its words: “the job was waiting for your confirmation”.

This decides whether a card is shown, and nothing else: what follows a mention is held as well
(`excuses` says what is not), and asked about when something would be carried out.

A phrase is only mentioned when the words around it, within its line, say so: it is quoted
from somebody, denied, of another time, or the name of a button; or the end of a sentence goes
through it. The rules are few, and narrow: where both can be read, it is a request. A needless card
costs a click. So a quotation that the speaker introduces as its own ("Let me ask: “Shall I
proceed?”") asks.

How well this works on text that the rules were not made for is measured by
tests/agents/sentences/test_detection.py.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.phrase_in_sentence import NEAR, PhraseInSentence
from agui_bridge.agents.sentences.quotations import open_quote
from agui_bridge.agents.wording.denied import DENIED
from agui_bridge.agents.wording.following import AFTER
from agui_bridge.agents.wording.other_times import OTHER_TIMES

_QUOTED_LINE = re.compile(r">[\s>]*(?!\*\*|__|\[!)[\w\"'“‘「(\[`<-](?!.*\bI\b)")
"""A line of a block quotation, but not of a box ("> ⚠️ Please confirm") or the speaker's own."""

_BROKEN = re.compile(r"(?<![.!?])[.!?](?![.!?])|[;；。！？｡]|\w[-/]\w")
"""In a phrase as it was said: the end of a sentence, or a name such as `are-you-sure`."""

_OWN_WORDS = re.compile(
    r"\b(?:let me|i ask|i repeat|my question|question for you|"
    r"i(?: (?:must|have to|need to|want to|should|will|would like to|now)|"
    r"'(?:ll|d like to|m going to|ve got to)))\b[^“”\"‘’「」]{0,60}\Z"
    r"|(?:我(?:想|要|需要|必须|得|再)|请问|請問)[^“”\"「」]{0,12}\Z"
)
"""Before a quotation: it is what the speaker says itself."""

_TELLING = re.compile(r"\b(?:asked|said|wrote|told|replied|answered)\b")
"""Before a quotation: it is not."""

_BEFORE = (*DENIED, *OTHER_TIMES)


def is_mention(place: PhraseInSentence) -> bool:
    """Whether a phrase seems to be mentioned, not meant."""
    before, after, phrase = place.before, place.after, place.phrase.casefold()
    line = (place.line + place.sentence)[: 2 * NEAR]
    return (
        (_BROKEN.search(place.said) is not None and _BROKEN.search(phrase) is None)
        or _QUOTED_LINE.match(line) is not None
        or any(rule.about.match(phrase) and rule.words.search(before) for rule in _BEFORE)
        or any(rule.about.match(phrase) and rule.words.match(after) for rule in AFTER)
        or _is_quoted(place.lead)
    )


def _is_quoted(before: str) -> bool:
    """Whether a quotation that is not the speaker's own holds what stands between the two."""
    opened = open_quote(before)
    if opened is None:
        return False
    place, _ = opened
    lead = before[:place].strip(" #>:,，：")
    return _TELLING.search(lead) is not None or _OWN_WORDS.search(lead) is None
