"""One scope's worst inputs keep no other scope waiting, however many come at once.

Judged by the loop's rounds, not by a clock; `loadtest/neighbours.py` measures the same in seconds.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from agui_bridge.engine import engine as engine_module
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.run.claim import Claim
from agui_bridge.http import request_parts
from agui_bridge.protocol.dialects import parsing
from loadtest import neighbours
from loadtest.hostile_inputs import HOSTILE_KINDS, hostile_request
from tests.http.conftest import Serving, by_token
from tests.support.agents import Scripted
from tests.support.server import run_input

ANN = {"authorization": "Bearer ann", "content-type": "application/json"}
EVE = {"authorization": "Bearer eve"}


class Stretches:
    """Notes in which round of the loop each heavy stretch was, as if it had taken long."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at: list[int] = []
        self._round = 0
        self._ahead = 0.0
        self._loop = asyncio.get_running_loop()
        self._patch = patch
        patch.setattr(self._loop, "time", lambda: time.monotonic() + self._ahead)
        self._next = self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._round += 1
        self._next = self._loop.call_soon(self._go_round)

    def note(self, owner: Any, name: str, wanted: Callable[[Any], bool]) -> None:
        """Note the calls of a function whose first argument is wanted."""
        real = getattr(owner, name)

        def noted(*args: Any, **options: Any) -> Any:
            if wanted(args[0]):
                self.at.append(self._round)
                self._ahead += 0.06
            return real(*args, **options)

        self._patch.setattr(owner, name, noted)

    def stop(self) -> None:
        """Note no more."""
        self._next.cancel()


async def test_inputs_of_one_scope_are_worked_on_with_rounds_of_the_loop_between(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [{"id": f"m{n}", "role": "user", "content": "x" * 800} for n in range(100)]
    many = 5
    async with serving(Scripted(["hello"]), authenticate=by_token) as site:
        stretches = Stretches(monkeypatch)
        stretches.note(request_parts, "parse_json", lambda content: len(content) > 64 * 1024)
        stretches.note(parsing, "check_members", lambda body: True)
        stretches.note(parsing, "check_ids", lambda parsed: True)
        stretches.note(StartingConversation, "of", lambda loaded: True)
        stretches.note(engine_module, "admit", lambda loaded: True)
        stretches.note(Claim, "of", lambda submission: True)
        inputs = [run_input(None, thread=f"t{n}", messages=messages) for n in range(many)]
        answers = await asyncio.gather(
            *(
                site.http.post("/agents/agent", content=json.dumps(body).encode(), headers=ANN)
                for body in inputs
            )
        )
        stretches.stop()

    assert all("RUN_FINISHED" in answer.text for answer in answers)
    assert len(stretches.at) == 6 * many
    gaps = [b - a for a, b in zip(stretches.at, stretches.at[1:], strict=False)]
    assert min(gaps) >= 8


async def test_small_inputs_pass_while_large_ones_of_another_scope_wait(serving: Serving) -> None:
    async with serving(Scripted(["hello"]), authenticate=by_token) as site:
        async with site.bridge.turns.turn("team", heavy=True):
            messages = [{"id": "m", "role": "user", "content": "x" * 100_000}]
            body = json.dumps(run_input(None, messages=messages)).encode()
            post = site.http.post("/agents/agent", content=body, headers=ANN)
            waiting = asyncio.ensure_future(post)
            theirs = await site.http.post("/agents/agent", json=run_input("hi"), headers=EVE)
            assert "RUN_FINISHED" in theirs.text
            assert (await site.http.get("/healthz")).status_code == 200
            assert not waiting.done()
        assert "RUN_FINISHED" in (await waiting).text


@pytest.mark.soak
@pytest.mark.parametrize("kind", HOSTILE_KINDS)
async def test_what_the_measurement_sends_is_within_the_limits(serving: Serving, kind: str) -> None:
    """A body that is refused for its size would measure nothing."""
    head, _, body = hostile_request(kind, "/agents/agent", "ann", "t").partition(b"\r\n\r\n")
    assert len(head) <= 64 * 1024 and head.count(b"\r\n") <= 100
    if not body:
        return
    async with serving(Scripted(["hello"]), authenticate=by_token) as site:
        response = await site.http.post("/agents/agent", content=body, headers=ANN)
    assert response.status_code in (200, 422), response.text[:300]
    refused = "last part wrong", "forbidden text"
    assert (response.status_code == 422) == (kind in refused), response.text[:300]


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lease", [30.0, 6.0])
@pytest.mark.parametrize("kind", HOSTILE_KINDS)
def test_a_neighbour_loses_no_run_and_is_answered(kind: str, lease: float) -> None:
    found = neighbours.disturb(kind, 8, 6.0, lease)

    assert found.alive
    assert found.runs and not found.lost, (found.runs, max(found.delays), found.stalled)
    assert not {"ConnectionRefusedError", "ConnectionResetError", "no answer"} & set(found.attacks)
    # What a server that nobody attacks takes at the same moments is the machine's doing.
    assert found.typical < neighbours.DELAY + max(found.calm)
