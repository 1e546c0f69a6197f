"""Where somebody can approve, what is read there is what will run: in every place, of any call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from agui_bridge.protocol.previews import CommandPreview, Preview
from tests.shown.calls import ASKERS, calls
from tests.shown.places import NOTHING, PLACES, Office, Read, the_office
from tests.shown.previews import lines_read, lines_wanted, previews
from tests.text.reading import hides_nothing, in_order


@pytest.fixture(scope="module")
async def office() -> AsyncIterator[Office]:
    """Bridges that all examples share; each has its own thread."""
    async with the_office() as found:
        yield found


@pytest.mark.soak
@pytest.mark.parametrize("place", PLACES)
@given(args=calls(), asker=ASKERS)
@settings(max_examples=25, phases=[Phase.generate])
async def test_what_is_read_beside_an_approval_is_what_runs(
    place: str, args: dict[str, Any], asker: str, office: Office
) -> None:
    read = await PLACES[place](office, args, asker, None)
    assert hides_nothing(read.text)
    assert in_order(read.shown)
    if read.approves or read.args is not NOTHING:
        _reads(read, args)
    if read.asked_by is not None:
        assert read.asked_by in (asker, asker[:80])


def _reads(read: Read, args: dict[str, Any]) -> None:
    # As text: 1 is neither 1.0 nor true.
    assert json.dumps(read.args, sort_keys=True) == json.dumps(args, sort_keys=True)


@pytest.mark.timeout(600)
@pytest.mark.soak
@pytest.mark.parametrize("place", [place for place in PLACES if place != "inbox list"])
@given(args=calls(), preview=previews())
@settings(max_examples=20, phases=[Phase.generate])
async def test_what_is_read_beside_an_approval_is_what_its_preview_says(
    place: str, args: dict[str, Any], preview: Preview, office: Office
) -> None:
    read = await PLACES[place](office, args, "ann", preview)
    assert hides_nothing(read.text)
    assert in_order(read.preview)
    if read.approves:
        _reads(read, args)
    if read.approves or (read.preview and not read.preview.endswith("…")):
        assert lines_read(read.preview) == lines_wanted(preview)


@pytest.mark.parametrize("place", ["Slack", "the inbox's list", "an MCP client"])
async def test_beside_a_preview_that_is_too_long_for_the_place_nothing_approves(
    place: str, office: Office
) -> None:
    for preview, approves in ((CommandPreview("ls", "/"), True), (LONG_PREVIEW, False)):
        read = await PLACES[place](office, {"to": "bob"}, "ann", preview)
        assert read.approves is approves


LONG_PREVIEW = CommandPreview("\n".join(f"echo {n}" for n in range(500)), "/")
