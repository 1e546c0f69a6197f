"""The changelog speaks of the version that the package has."""

import re
from pathlib import Path

import agui_bridge

CHANGELOG = Path(__file__).parent.parent / "CHANGELOG.md"


def test_the_newest_entry_is_the_version_of_the_package() -> None:
    entries = re.findall(r"^## \[(.+?)\]", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    versions = [entry for entry in entries if entry != "Unreleased"]

    assert versions[0] == agui_bridge.__version__
