"""Arguments that are nearly the same, and what a page shows of them beside an enabled button.

A page shows a text where it can be seen: where nothing hides, clips or shrinks it, and what it
clips can be scrolled to. Two values that differ never look the same there.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Locator

__all__ = ["NAMES", "PAIRS", "SEED", "Json", "Shown", "seen", "shown", "twins"]

SEED: Final = 20_260_101
"""Of the pairs that the tests of all pages look at."""

Json = dict[str, Any]
Shown = tuple[tuple[int, str], ...]
"""The texts that can be seen, each with how far from the left it begins."""

SEEN: Final = """region => {
  const left = region.getBoundingClientRect().left;
  const unseen = [];
  const clips = (it) => ["hidden", "clip"].includes(it);
  const scrolls = (it) => ["auto", "scroll"].includes(it);
  const looked = (element) => {
    const box = element.getBoundingClientRect();
    for (let around = element; around && around !== document.body; around = around.parentElement) {
      const style = getComputedStyle(around), frame = around.getBoundingClientRect();
      if (+style.opacity < 0.5 || style.visibility !== "visible") return "faint";
      if (style.clipPath !== "none" && around !== element.closest("label, span")) return "clipped";
      if (around === element) continue;
      const down = style.overflowY, across = style.overflowX;
      if (scrolls(down) || scrolls(across)) {
        const top = box.top - frame.top + around.scrollTop;
        if (top < -1 || top + box.height > around.scrollHeight + 1) return "not in what scrolls";
        return null;
      }
      const over = box.bottom > frame.bottom + 1 || box.top < frame.top - 1;
      if (clips(down) && over) return "cut off below";
      if (clips(across) && (box.right > frame.right + 1 || box.left < frame.left - 1))
        return "cut off beside";
    }
    return null;
  };
  const texts = [];
  for (const element of region.querySelectorAll("*")) {
    if (element.closest("button, .decide, .agc-actions, time, .facts, .chip")) continue;
    const own = [...element.childNodes].filter((it) => it.nodeType === 3 && it.data !== "");
    if (!own.some((it) => it.data.trim())) continue;
    // Nothing is drawn of what is folded or has no box.
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (element.closest(".agc-hidden, [hidden]")) continue;
    const small = parseFloat(style.fontSize) < 10 || !box.width || !box.height;
    const found = small ? "too small" : style.textOverflow === "ellipsis" ? "cut" : looked(element);
    if (found) unseen.push(`${found}: ${element.tagName} ${element.innerText.slice(0, 60)}`);
    else texts.push([Math.round(box.left - left), element.innerText]);
  }
  return [texts, unseen];
}"""

_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")


def shown(region: Locator) -> Shown:
    """What can be seen in a part of a page, without the characters that nobody sees."""
    texts, unseen = region.evaluate(SEEN)
    assert texts and unseen == [], unseen
    return tuple((left, seen(text)) for left, text in texts)


def seen(text: str) -> str:
    """What people see of a text, if nothing marks what hides in it."""
    kept, marks = [], 0
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        hides = (
            kind in ("Cf", "Cs", "Co") or character in _FILLERS or "\ufe00" <= character <= "\ufe0f"
        )
        control = kind == "Cc" and character not in "\n\t"
        # Of many marks on a letter nobody counts those beyond the tenth.
        if not (hides or control or marks > 10):
            kept.append(character)
    return "".join(kept)


PAIRS: Final[tuple[tuple[Any, Any], ...]] = (
    (1, "1"),
    (True, "true"),
    (None, "null"),
    (None, "\u2013"),
    (None, ""),
    (1, True),
    (2**60, 2**60 + 1),
    (1e30, 10**30 + 1),
    ([], "[]"),
    ({}, "{}"),
    ([1], 1),
    (["a"], "a"),
    (["a", "b"], "a\nb"),
    ([["a"], "b"], ["a", ["b"]]),
    ({"a": "b"}, "a\nb"),
    ({"a": 1}, '{"a": 1}'),
    ("", '""'),
    ("a", '"a"'),
    ("a ", "a"),
    (" a", "a"),
    ("a\nb", "a\r\nb"),
    ("a\nb", "a b"),
    ("a\nb", "a\\nb"),
    ("\na", "a"),
    ("a\n", "a"),
    ("\n", ""),
    ("a\tb", "a b"),
    ("a  b", "a b"),
    ("a\u200bb", "ab"),
    ("a\u00adb", "ab"),
    ("a\u202eb", "ab"),
    ("a\u3164b", "ab"),
    ("a\ufe0fb", "ab"),
    ("\U000e0061a", "a"),
    ("a\x01b", "ab"),
    ("e" + "\u0301" * 40, "e" + "\u0301" * 41),
    ("p\u0430y.com", "pay.com"),
    ("</dd></dl><dl><dt>limit</dt><dd>1", "limit 1"),
    ("<b>a</b>", "a"),
    ("&amp;", "&"),
    ("x" * 2_000, "x" * 1_999 + "y"),
    ("x\n" * 400, "x\n" * 399 + "y\n"),
    ("x" * 20_000 + "1" + "x" * 99, "x" * 20_000 + "2" + "x" * 99),
    ("a\n\n\n\nlimit\n5", "a\n\nlimit\n5"),
)
"""Values of one argument."""

NAMES: Final[tuple[tuple[Json, Json], ...]] = (
    ({"a": 1}, {"a ": 1}),
    ({"a": 1}, {" a": 1}),
    ({"a b": 1}, {"a  b": 1}),
    ({"a b": 1}, {"a\nb": 1}),
    ({"ab": 1}, {"a\u200bb": 1}),
    ({"to": 1}, {"t\u202eo": 1}),
    ({"": 1}, {'""': 1}),
    ({"a": 1}, {'"a"': 1}),
    ({"a": {"b": 1}}, {"a": "b", "": 1}),
    ({"a": "1\nb\n2"}, {"a": 1, "b": 2}),
    ({"__proto__": 1}, {}),
    ({"agui_bridge": 1}, {}),
    ({f"k{n}": n for n in range(40)}, {f"k{n}": n for n in range(39)} | {"k39": 0}),
)
"""Arguments whole, which differ in their names or in which there are."""

SPICE: Final = (
    "a",
    "1",
    " ",
    "\n",
    "true",
    '"',
    "\\",
    "<b>",
    "\u200b",
    "\u0430",
    "é",
    "漢",
    ":",
    "…",
)


def twins(seed: int) -> Iterator[tuple[Json, Json]]:
    """Pairs of arguments that differ: those above, a third of them deep in random ones."""
    chance = random.Random(seed)
    for one, other in PAIRS:
        path = [chance.choice("abcde") * chance.randint(1, 9) for _ in range(chance.randint(1, 6))]
        around = {_word(chance): _value(chance, 3) for _ in range(chance.randint(0, 3))}
        if chance.random() < 1 / 3:
            yield _within(one, path, around), _within(other, path, around)
        else:
            yield {"what": one, "limit": 5}, {"what": other, "limit": 5}
    yield from NAMES


def _within(value: Any, path: list[str], around: Json) -> Json:
    for place, name in enumerate(path):
        value = {**around, name: value} if place % 2 == 0 else {name: [value, 1]}
    return {"args": value}


def _word(chance: random.Random) -> str:
    return "k" + "".join(chance.choices(SPICE, k=chance.randint(0, 4)))


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(6 if depth else 4)
    if kind == 4:
        return [_value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    if kind == 5:
        return {_word(chance): _value(chance, depth - 1) for _ in range(chance.randint(0, 3))}
    return (_word(chance), chance.randint(-9, 9), chance.choice((True, False, None)), 1.5)[kind]
