"""What of the documentation is made from the code is up to date and leaves nothing out."""

import dataclasses
import re
from importlib.metadata import entry_points

import agui_bridge
from docs.generators.__main__ import FOLDER, pages
from docs.generators.frameworks import FRAMEWORKS
from docs.generators.reference import GROUPS


def test_the_generated_pages_are_up_to_date() -> None:
    stale = [
        path.name
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]

    assert stale == [], "run `make docs`"


def test_the_reference_has_every_public_name_once() -> None:
    named = [name for names in GROUPS.values() for name in names]

    assert sorted(named) == sorted(set(agui_bridge.__all__) - {"__version__"})


def test_the_reference_shows_what_a_dataclass_is_made_of_with_types_and_defaults() -> None:
    page = (FOLDER / "reference.md").read_text(encoding="utf-8")
    missing = [
        f"{name}.{field.name}"
        for name in agui_bridge.__all__
        if dataclasses.is_dataclass(kind := getattr(agui_bridge, name))
        for field in dataclasses.fields(kind)
        if not re.search(rf"```python\n{name}\([^`]*\b{field.name}: [^`]*\)\n```", page)
    ]

    assert missing == []
    assert "\n    stop_timeout: float = 30.0,\n" in page
    assert "\n    history: Literal['server', 'client'] = 'server',\n" in page


def test_the_page_of_frameworks_has_every_adapter_of_one() -> None:
    found = entry_points(group="agui_bridge.adapters")
    in_process = {entry.value for entry in entry_points(group="agui_bridge.frameworks")}
    listed = {one.adapter: one for one in FRAMEWORKS}

    assert {entry.name for entry in found if entry.value in in_process} == {
        name for name, one in listed.items() if one.package
    }
