"""What the documentation site is built from is whole, and what is wrong with a site is told."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

from docs.generators.public import PACKAGES
from docs.site.__main__ import site_sources, unlisted, write_sources
from docs.site.built import complaints_about
from docs.site.navigation import SECTIONS, nav_of, orphans_of
from docs.site.shapes import schema_page
from docs.site.sources import DeadLink, Sources, collect


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Read once: every package that is public is imported for it."""
    return site_sources()


def test_every_page_has_a_place_in_the_navigation(sources: Sources) -> None:
    assert unlisted(sources) == []


def test_no_page_stands_in_two_places() -> None:
    listed = [page for entries in SECTIONS.values() for _, page in entries]

    assert len(set(listed)) == len(listed)


def test_a_page_without_a_place_is_named_with_what_to_do() -> None:
    assert orphans_of(["index.md", "lost.md"]) == [
        "lost.md is in no section of the navigation: add it to SECTIONS in docs/site/navigation.py"
    ]


def test_an_entry_whose_page_is_not_there_is_left_out() -> None:
    sections = nav_of(["index.md", "errors.md"], {})

    assert sections[0] == {"Start": [{"agui-bridge": "index.md"}]}
    assert {"Frontends": [{"Errors": "errors.md"}]} in sections


def test_every_public_name_is_explained(sources: Sources) -> None:
    missing = [
        f"{package}.{name}"
        for package in PACKAGES[1:]
        for name in importlib.import_module(package).__all__
        if f"### {name}\n" not in sources.pages[f"api/{package}.md"]
    ]

    assert missing == []


def test_every_route_and_every_member_of_a_schema_is_shown(sources: Sources) -> None:
    assert "### POST /agents/{agent}\n" in sources.pages["schemas/openapi.md"]
    assert "| `approved` (required) | boolean |" in sources.pages["schemas/decisions.md"]
    assert "[Interrupt](#interrupt)" in sources.pages["schemas/events.md"]


def test_a_member_shows_its_bounds_its_default_and_its_choices() -> None:
    count = {"type": "integer", "minimum": 1, "default": 3, "description": "How many a|b."}
    kind = {"enum": ["a", None]}
    page = schema_page(
        "x", {"title": "X", "properties": {"n": count, "k": kind}, "required": ["k"]}
    )

    assert "| `n` | integer | How many a\\|b. (≥ 1) Default: `3`. |\n" in page
    assert '| `k` (required) | `"a"` or `null` |  |\n' in page


def test_the_builder_is_told_every_section_and_page(sources: Sources, tmp_path: Path) -> None:
    write_sources(sources, tmp_path)
    told = tomllib.loads((tmp_path / "zensical.toml").read_text(encoding="utf-8"))["project"]

    assert [name for section in told["nav"] for name in section] == list(SECTIONS)
    assert told["theme"]["font"] is False
    assert (tmp_path / "docs" / "schemas" / "openapi.json").exists()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of few pages."""
    texts = {
        "README.md": "# A\n\n[b](docs/b.md#part), `[x](no.md)`, [c](https://c.example)\n",
        "CHANGELOG.md": "# Changes\n",
        "CONTRIBUTING.md": "# How\n",
        "docs/b.md": "# B\n\n[a](../README.md) [code](../code/a.py) [all](../schemas)\n",
        "examples/README.md": "# Examples\n",
        "schemas/README.md": "# Schemas\n",
        "code/a.py": "print(1)\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_links_lead_to_pages_of_the_site_and_code_stays_as_it_is(repository: Path) -> None:
    pages = collect(repository).pages

    assert "[b](b.md#part), `[x](no.md)`, [c](https://c.example)" in pages["index.md"]
    assert "[a](index.md) [code](files/code/a.py.md) [all](schemas/index.md)" in pages["b.md"]
    assert "````python\nprint(1)\n````" in pages["files/code/a.py.md"]


def test_a_link_to_nothing_is_named_with_its_page(repository: Path) -> None:
    (repository / "docs" / "b.md").write_text("[gone](gone.md)\n")

    with pytest.raises(DeadLink, match=r"docs/b\.md links to gone\.md, and there is no docs/gone"):
        collect(repository)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="no.html">x</a>', "index.html links to no.html, which is not there"),
        (
            '<a href="b.html#no">x</a>',
            "links to b.html#no, and b.html has no such heading",
        ),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js from"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "loads //cdn.example/x.css from"),
    ],
)
def test_a_built_page_is_judged(tmp_path: Path, body: str, complaint: str) -> None:
    (tmp_path / "b.html").write_text('<h1 id="b">B</h1>')
    (tmp_path / "index.html").write_text(f'<a href="b.html#b">b</a>{body}')

    (told,) = complaints_about(tmp_path)

    assert complaint in told


def test_a_page_that_no_other_links_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="b.html">b</a>')
    (tmp_path / "b.html").write_text("")
    (tmp_path / "lost.html").write_text('<a href="lost.html">itself</a>')

    assert complaints_about(tmp_path) == ["no page links to lost.html"]


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    assert complaints_about(tmp_path) == [f"{tmp_path} holds no site"]
