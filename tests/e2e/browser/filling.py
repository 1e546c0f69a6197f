"""Fills in a form by its fields alone, whatever schema it was made from."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Locator, Page

__all__ = ["Misfit", "fill_in", "typed_as_json"]


class Misfit(Exception):
    """There is no field that such a value can be given in."""


def fill_in(page: Page, value: Any) -> None:
    """Give a form's fields a value, as somebody does who sees them.

    Raises:
        Misfit: something of it has no field, or one for values of another type.
    """
    form = page.locator("form").first
    own = form.evaluate("it => it.querySelector('[id*=\"-\"]')?.id ?? ''")
    _Filling(page, str(own).partition("-")[0]).give("", value)


def typed_as_json(page: Page) -> int:
    """How many fields want JSON."""
    return page.locator("textarea.agc-code").count()


class _Filling:
    def __init__(self, page: Page, form: str) -> None:
        self._page = page
        self._form = form
        self._choosing = False

    def give(self, path: str, value: Any) -> None:
        found = self._at(path)
        if not found.count():
            if not path and isinstance(value, dict) and not self._at(path, "-add").count():
                self._members(path, value)
                return
            self._fixed(path, value)
        elif found.evaluate("it => it.tagName") != "FIELDSET":
            self._simple(found, value)
        elif value is None:
            return
        elif self._at(path, "-variant").count():
            self._variant(path, value)
        elif isinstance(value, dict):
            add = self._at(path, "-add")
            if add.count() and str(add.get_attribute("aria-label")).startswith("Add to "):
                self._entries(path, found, value)
                return
            if add.count():
                add.click()
            self._members(path, value)
        elif isinstance(value, list):
            self._items(path, found, value)
        else:
            raise Misfit(path)

    def _at(self, path: str, suffix: str = "") -> Locator:
        place = quote(path, safe="!'()*~") or "answer"
        return self._page.locator(f'[id="{self._form}-{place}{suffix}"]')

    def _fixed(self, path: str, value: Any) -> None:
        shown = self._page.locator("p.agc-field > b").all_inner_texts()
        text = value if isinstance(value, str) else json.dumps(value)
        if text not in shown:
            raise Misfit(f"{path}: no field")

    def _simple(self, field: Locator, value: Any) -> None:
        tag, kind, mode, code = field.evaluate(
            "it => [it.tagName, it.type, it.inputMode, it.classList.contains('agc-code')]"
        )
        if code:
            field.fill(json.dumps(value, ensure_ascii=False))
        elif value is None:
            return
        elif tag == "SELECT":
            text = value if isinstance(value, str) else json.dumps(value)
            names = {"true": "Yes", "false": "No"}
            options = field.locator("option").all_inner_texts()
            chosen = next((it for it in (text, names.get(text)) if it in options), None)
            if chosen is None:
                raise Misfit(text)
            field.select_option(label=chosen)
        elif kind == "checkbox":
            if not isinstance(value, bool):
                raise Misfit(value)
            field.set_checked(value)
        elif mode in ("numeric", "decimal"):
            if isinstance(value, bool | dict | list) or (self._choosing and isinstance(value, str)):
                raise Misfit(value)
            field.fill(str(value))
        elif not isinstance(value, str):
            raise Misfit(value)
        else:
            self._text(field, kind, value)

    def _text(self, field: Locator, kind: str, value: str) -> None:
        if kind == "datetime-local":
            value = value[:16]
        if kind in ("date", "time", "datetime-local"):
            # Typed into a field of a date, what is none is not taken.
            taken = field.evaluate(
                "(it, value) => Object.assign(it.cloneNode(), { value }).value",
                value,
            )
            if not taken:
                raise Misfit(value)
        field.fill(value)

    def _variant(self, path: str, value: Any) -> None:
        select = self._at(path, "-variant")
        before, self._choosing = self._choosing, True
        try:
            for place in range(select.locator("option").count()):
                select.select_option(index=place)
                try:
                    return self.give(_path(path, "value"), value)
                except Misfit:
                    continue
        finally:
            self._choosing = before
        raise Misfit(path)

    def _members(self, path: str, value: dict[str, Any]) -> None:
        for name, member in value.items():
            self.give(_path(path, name), member)

    def _entries(self, path: str, found: Locator, value: dict[str, Any]) -> None:
        if value:
            self._at(path, "-add").click()
            if not self._at(f"{_path(path, 0)}.name").count():
                raise Misfit(f"{path}: a list")
        entries = [{"name": name, "value": member} for name, member in value.items()]
        self._items(path, found, entries)

    def _items(self, path: str, found: Locator, items: list[Any]) -> None:
        ticks = found.locator("> .agc-tick > input")
        if ticks.count():
            for item in items:
                found.get_by_label(str(item), exact=True).check()
            return
        for place, item in enumerate(items):
            if not self._at(_path(path, place)).count():
                self._at(path, "-add").click()
            self.give(_path(path, place), item)


def _path(path: str, name: str | int) -> str:
    place = str(name).replace(".", "\\.")
    return f"{path}.{place}" if path else place
