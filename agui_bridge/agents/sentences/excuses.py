"""What excuses a phrase: after it the agent may go on to act, and nobody is asked.

Only two things do (code is not even looked at): the phrase stands in a quotation that is plainly
somebody else's, or it is plainly denied. Whatever is in doubt holds: a request that is taken for
something else would be carried out without an answer, while a needless hold costs a question, and
only when the agent then acts.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.phrase_in_sentence import PhraseInSentence
from agui_bridge.agents.sentences.quotations import whole_quotation
from agui_bridge.agents.wording.excuse_rules import (
    DENIALS,
    NEGATED,
    OWN_WORDS,
    SOURCES_AFTER,
    SOURCES_BEFORE,
    TAKEN_BACK,
    TAKEN_BACK_AFTER,
)

_SENTENCE_END = re.compile(r"[.!?。！？]")


def is_excused(place: PhraseInSentence) -> bool:
    """Whether a phrase is quoted from somebody, or denied."""
    return _is_denied(place) or _is_quoted(place)


def _is_denied(place: PhraseInSentence) -> bool:
    phrase = place.phrase.casefold()
    for denial in DENIALS:
        denied = denial.words.search(place.before) if denial.about.match(phrase) else None
        if denied is not None:
            before, after = place.before[: denied.start()], place.after
            taken_back = TAKEN_BACK.search(before) or TAKEN_BACK.search(after)
            if not (taken_back or TAKEN_BACK_AFTER.search(after) or NEGATED.search(before)):
                return True
    return False


def _is_quoted(place: PhraseInSentence) -> bool:
    start = len(place.lead)
    end = start + len(place.said)
    around = whole_quotation(place.lead + place.said + place.after, start, end)
    if around is None:
        return False
    before, after = around
    before = _SENTENCE_END.split(before)[-1]
    if OWN_WORDS.search(before) or OWN_WORDS.search(after):
        return False
    return bool(SOURCES_BEFORE.search(before) or SOURCES_AFTER.match(after))
