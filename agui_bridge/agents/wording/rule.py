"""A rule: words that stand before or after some of the phrases.

Texts are compared in lower case, with single spaces and without emphasis marks. `CLAUSE` in the
words stands for what ends a Chinese clause: what stands beyond it says nothing about the phrase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Groups of phrases that rules are about, by their first words.
ANY = ""
STATEMENTS = "(?!(?:do|would|are|can|could) you|(?:shall|should|may|can) i|ok)"
REQUIRED = "(?:confirmation|approval) (?:required|needed)"
NEED = "need your|require your"
WAITS = f"waiting|awaiting|{NEED}|{REQUIRED}|等|需要"
NEEDS = f"{REQUIRED}|{NEED}"

_CLAUSE = ",，。；;:：？?！!"


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that tell what a phrase is there for.

    Attributes:
        about: the phrases, by their first words.
        words: to be searched for in the text before the phrase, or after it.
    """

    about: re.Pattern[str]
    words: re.Pattern[str]


def preceded(about: str, *before: str) -> Rule:
    """Words that stand right before the phrases that begin so."""
    return _made(about, rf"(?:{'|'.join(before)})\Z")


def followed(about: str, *after: str) -> Rule:
    """Words that stand right after the phrases that begin so."""
    return _made(about, rf"\A(?:{'|'.join(after)})")


def _made(about: str, words: str) -> Rule:
    return Rule(re.compile(rf"\A(?:{about})"), re.compile(words.replace("CLAUSE", _CLAUSE)))
