"""The forms of a phrase: its words in another number or person, "needs your approvals"."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

__all__ = ["FORMS", "forms"]

FORMS: Mapping[str, tuple[str, ...]] = {
    "approval": ("approval", "approvals"),
    "confirm": ("confirm", "confirms"),
    "confirmation": ("confirmation", "confirmations"),
    "need": ("need", "needs"),
    "needed": ("needed", "is needed", "are needed"),
    "proceed": ("proceed", "proceeds"),
    "require": ("require", "requires"),
    "required": ("required", "is required", "are required"),
    "waiting": ("waiting", "wait", "waits"),
    "awaiting": ("awaiting", "await", "awaits"),
    "want": ("want", "wants"),
}
"""What a word of a phrase stands for."""


def forms(phrase: str) -> list[str]:
    """All that a phrase stands for, itself first."""
    choices = [FORMS.get(word, (word,)) for word in phrase.casefold().split()]
    return [" ".join(words) for words in product(*choices)]
