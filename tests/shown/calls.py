"""Calls that nobody has chosen: deep, long, many, with what hides, misleads, or reads backwards."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

__all__ = ["ASKERS", "LONG", "TEXTS", "calls"]

_PIECES: Final = (
    *("a", "users", " ", "  ", "\n", "\r\n", "\r", "\t", '"', "'", "\\", "<b>", "&lt;", "…", "`*_"),
    *(
        "\u200b",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\u00ad",
        "\U000e0061",
        "\u0301",
        "\u2800",
        "\x1b[2J",
    ),
    *(r"\u200b", r"\u{e0061}", r"\u005c", r"\\", "null", "true", "5", "1e5", "[1]", "{}", '"x"'),
    *(
        "שלום",
        "مرحبا",
        "می\u200cخواهم",  # noqa: RUF001 (Persian: its joiner is meant)
        "漢字",
        "😀",
        "☠\ufe0f",
        "ex\u0430mple.com",
        "\u00a0",
        "\u2028",
    ),
    *("agui_bridge", "╰─", "[y]es > ", "3 more", "Asked for by: eve", "Decide here:", "</pre>"),
)
TEXTS: Final = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)
LONG: Final = st.tuples(TEXTS, st.sampled_from([20, 400, 3_000])).map(
    lambda it: ((it[0] or "n") * it[1])[:4_000]
)
_SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def _deep(value: Any) -> Any:
    for level in range(40):
        value = {"in": value} if level % 2 else [value]
    return value


_MANY: Final = st.integers(5, 60).map(lambda count: {f"{at}\u200b": at for at in range(count)})

ASKERS: Final = st.one_of(TEXTS, LONG).filter(lambda name: bool(name.strip()))
"""Names of who asks."""


def calls() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of calls."""
    some = st.dictionaries(TEXTS, _VALUES, max_size=6)
    # What is added shows where arguments end that are cut, folded or left out.
    more = st.one_of(
        st.just({}),
        LONG.map(lambda text: {"note": text}),
        _VALUES.map(lambda value: {"deep": _deep(value)}),
        _MANY,
    )
    return st.builds(lambda first, rest: {**first, **rest}, some, more)
