"""What of the documentation is made from the code is up to date and leaves nothing out."""

import agui_bridge
from docs.generators.__main__ import pages
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
