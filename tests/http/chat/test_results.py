"""A chat client reads text: what an agent gives in place of words is its reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import UpstreamError
from tests.http.chat.cleaner import state_url
from tests.http.chat.conftest import Serving
from tests.support.agents import Scripted

GIVEN = {"rows": 3, "größe": "ü"}


def agent(result: Any, *, words: str = "", fails: bool = False) -> Scripted:
    """Asks, and then gives a result, with words or none."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield Pause([Ask("q", "confirmation", "Go on?")])
            return
        run.result = result
        if words:
            yield words
        if fails:
            raise UpstreamError("It broke.")

    return Scripted(script)


@pytest.mark.parametrize("a2ui", [True, False])
@pytest.mark.parametrize(
    ("result", "words", "shown"),
    [
        (GIVEN, "", json.dumps(GIVEN, ensure_ascii=False)),
        ("Three rows\nare gone.", "", "Three rows\nare gone."),
        (0, "", "0"),
        (None, "", ""),
        ("", "", ""),
        (GIVEN, "Done.", "Done."),
    ],
)
async def test_the_reply_is_the_result_where_there_are_no_words(
    serving: Serving, a2ui: bool, result: Any, words: str, shown: str
) -> None:
    async with serving(agent(result, words=words)) as site:
        chat = site.chat(a2ui=a2ui)
        await chat.say()
        frames = await chat.answer(confirm=True)
        state = (await site.http.get(state_url())).json()

    assert frames.text == shown
    assert frames.done is not None and frames.error is None
    kept = {} if result is None else {"result": result}
    assert state == {"interrupted": False, **kept}


async def test_a_run_that_fails_gives_none(serving: Serving) -> None:
    async with serving(agent(GIVEN, fails=True)) as site:
        chat = site.chat()
        await chat.say()
        frames = await chat.answer(confirm=True)
        state = (await site.http.get(state_url())).json()

    assert frames.text == "" and frames.error is not None
    assert state == {"interrupted": False}
