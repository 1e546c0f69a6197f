"""Pictures of what is really shown: `make pictures` copies them to docs/images."""

from __future__ import annotations

from io import BytesIO
from typing import Final, Literal

from PIL import Image
from playwright.sync_api import Locator, Page

from tests.e2e.browser.axe import axe_faults
from tests.e2e.browser.conftest import ARTEFACTS

__all__ = ["Film", "fits", "keep"]

PICTURES: Final = ARTEFACTS.parent / "pictures"

SIZES: Final = ((360, 640), (390, 780), (1280, 800))
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")

LARGEST: Final = 200_000
"""Bytes of a picture that stands still; one that moves may have twice as many."""


def keep(name: str, shown: Page | Locator) -> None:
    """Keep a picture of a page, or of a part of it, for the documentation, under a file's name."""
    if isinstance(shown, Page):
        picture = shown.screenshot(full_page=True, animations="disabled")
    else:
        picture = shown.screenshot(animations="disabled")
    _write(name, picture, LARGEST)


def fits(page: Page, name: str, *parts: str) -> None:
    """Assert that a page fits phones and a desk, light and dark, and is for everybody.

    Pictures of it are kept beside those of the tests.

    Args:
        page: as it is; it is given other sizes.
        name: how the pictures are called.
        parts: selectors of what is judged for accessibility, by default all.
    """
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for part in parts or ("html",):
                assert axe_faults(page, part) == []
            page.screenshot(path=ARTEFACTS / f"{name}-{width}-{scheme}.png")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme="null", reduced_motion="null")


class Film:
    """Several pictures of a part of a page, which become one that moves.

    Args:
        shown: the part; its size must stay the same.
    """

    def __init__(self, shown: Locator) -> None:
        self._shown = shown
        self._pictures: list[Image.Image] = []
        self._seconds: list[float] = []

    def take(self, seconds: float) -> None:
        """Take one, which is to be seen for that long."""
        self._pictures.append(
            Image.open(BytesIO(self._shown.screenshot(caret="initial", animations="disabled")))
        )
        self._seconds.append(seconds)

    def keep(self, name: str) -> None:
        """Write it as a WebP without losses, which begins anew at its end."""
        first, *others = self._pictures
        assert {picture.size for picture in others} == {first.size}
        film = BytesIO()
        first.save(
            film,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=[round(seconds * 1000) for seconds in self._seconds],
            loop=0,
            lossless=True,
            method=6,
        )
        _write(name, film.getvalue(), 2 * LARGEST)


def _write(name: str, picture: bytes, most: int) -> None:
    assert len(picture) <= most, f"{name} has {len(picture)} bytes"
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_bytes(picture)
