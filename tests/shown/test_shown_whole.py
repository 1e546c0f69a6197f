"""Where somebody can approve, what is read there is what will run: in every place, of any call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from tests.shown.calls import ASKERS, calls
from tests.shown.places import NOTHING, PLACES, Office, Read, the_office
from tests.text.reading import hides_nothing


@pytest.fixture(scope="module")
async def office() -> AsyncIterator[Office]:
    """Bridges that all examples share; each has its own thread."""
    async with the_office() as found:
        yield found


@pytest.mark.parametrize("place", PLACES)
@given(args=calls(), asker=ASKERS)
@settings(max_examples=25, phases=[Phase.generate])
async def test_what_is_read_beside_an_approval_is_what_runs(
    place: str, args: dict[str, Any], asker: str, office: Office
) -> None:
    read = await PLACES[place](office, args, asker)
    assert hides_nothing(read.text)
    if read.approves or read.args is not NOTHING:
        _reads(read, args)
    if read.asked_by is not None:
        assert read.asked_by in (asker, asker[:80])


def _reads(read: Read, args: dict[str, Any]) -> None:
    # As text: 1 is neither 1.0 nor true.
    assert json.dumps(read.args, sort_keys=True) == json.dumps(args, sort_keys=True)
