"""Texts that hide something, and texts that hide nothing, for all that shows them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["HIDING", "HONEST", "NAMES"]

HIDING: Final[Mapping[str, tuple[str, str]]] = {
    "variation selectors, a byte each": (
        "report.txt\ufe01\U000e0101",
        r"report.txt\ufe01\u{e0101}",
    ),
    "a grapheme joiner": ("a\u034fb", r"a\u034fb"),
    "fillers of Hangul": ("a\u3164\u115f\uffa0b", r"a\u3164\u115f\uffa0b"),
    "tags": ("hi\U000e0068\U000e0069", r"hi\u{e0068}\u{e0069}"),
    "tags behind a flag that is none": ("\U0001f3f4\U000e0078\U000e007f", "🏴\\u{e0078}\\u{e007f}"),
    "a space of Braille": ("a\u2800b", r"a\u2800b"),
    "spaces of no width": ("p\u200ba\u2060y\ufeff", r"p\u200ba\u2060y\ufeff"),
    "directions": ("\u202egpj.exe\u2066\u061c", r"\u202egpj.exe\u2066\u061c"),
    "controls": ("a\x1b[2J\x7f\x9b", r"a\u001b[2J\u007f\u009b"),
    "controls alone": ("a\x07", r"a\u0007"),
    "lines that are none to Python": ("a\u2028b", r"a\u2028b"),
    "a mark that is written out": (r"a\u200bc", r"a\u005cu200bc"),
    "one of five digits, and a backslash before it": (
        r"a\\u{E0101}c\u20",
        r"a\\u005cu{E0101}c\u20",
    ),
    "a backslash before what is not seen": ("a\\\u200bc", r"a\\u200bc"),
    "half of a pair": ("a\ud800b", r"a\ud800b"),
    "many marks on a letter": ("Z" + "\u0301" * 8, "Z" + "\u0301" * 6 + r"\u0301\u0301"),
    "joiners between Latin letters": ("a\u200db\u200cc", r"a\u200db\u200cc"),
    "two joiners": ("می\u200c\u200cخو", r"می\u200c\u200cخو"),
    "a selector of emoji behind a letter": ("a\ufe0f", r"a\ufe0f"),
    "two selectors behind an emoji": ("☠\ufe0f\ufe0f", "☠\ufe0f\\ufe0f"),
    "an emoji that is joined to nothing": ("☠\u200d", r"☠\u200d"),
    "Cyrillic in a Latin host": ("to ex\u0430mple.com", r"to ex\u0430mple.com"),
    "a joiner beside a letter that is marked": (
        "می\u200cخex\u0430.com",
        r"می\u200c\u062eex\u0430.com",
    ),
    "Greek behind a user": ("mail me@b\u03bfb", r"mail me@b\u03bfb"),
    "letters that look like ASCII in a host": ("https://\uff50ay.com", r"https://\uff50ay.com"),
}
"""What is in them: the text, and as it is shown."""

HONEST: Final[Mapping[str, str]] = {
    "emoji": "👨‍👩‍👧‍👦 👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 ☠️ ☠︎ 1️⃣ 🧑🏻‍❤️‍💋‍🧑🏽",
    "flags": "🇫🇷 \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "Persian": "می\u200cخواهم",  # noqa: RUF001
    "Hindi": "क\u094d\u200dष",
    "Sinhala": "ශ\u0dca\u200dරී",
    "Hebrew with its signs": "בְּרֵאשִׁ֖ית",
    "decomposed Vietnamese": "Vie\u0323\u0302t",
    "two alphabets in prose": "API-ключ Δt и IPадрес 日本語abc",  # noqa: RUF001
    "hosts of one alphabet": "пример.рф δοκιμή.gr 例え.jp b\u00fccher.de",
    "lines and tabs": "a\n\tb",
}

NAMES: Final[Mapping[str, str]] = {
    "p\u0430y": r"p\u0430y",
    "pay_\uff49nvoice": r"pay_\uff49nvoice",
    "send\u200b": r"send\u200b",
    "می\u200cخx": r"می\u200c\u062ex",
    "send\nfake": "send fake",
    "удалить_строки": "удалить_строки",
    "delete_rows": "delete_rows",
}
"""Names of tools, and as they are shown."""
