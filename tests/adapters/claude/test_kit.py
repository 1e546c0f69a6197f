"""Every check of the kit on Claude Code, before a model of our own."""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge.testing.checks import CHECKS
from tests.adapters.claude.coder import Coder
from tests.adapters.claude.model import FakeClaude
from tests.support.effects import lines_of

pytestmark = [pytest.mark.timeout(240), pytest.mark.soak]

QUICK = (
    *("text", "approve", "decline", "edit", "answer", "restart", "race", "beside", "cut-text"),
    *("stop-in-tool", "stopped-pause", "regenerate", "images", "capabilities"),
)
"""Checks that run before every commit; `make soak` runs the rest."""


class TestClaude(AdapterSuite):
    # Of several calls it waits for one at a time, in no sub-agent, and with no tool that has begun.
    leaves_out = ("parallel", "nested", "amid", "free", "respond", "undelivered")

    def pytest_generate_tests(self, metafunc: Any) -> None:
        if "check" not in metafunc.fixturenames:
            return
        applying = [check for check in CHECKS if not self.is_left_out(check)]
        assert {*QUICK} <= {check.id for check in applying}
        metafunc.parametrize(
            "check",
            [
                pytest.param(
                    check, id=check.id, marks=() if check.id in QUICK else pytest.mark.soak
                )
                for check in applying
            ],
        )

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        numbers = itertools.count()
        with tempfile.TemporaryDirectory() as folder:
            async with FakeClaude().serving() as model:
                effects = Path(folder, "effects")

                def coder() -> Coder:
                    """Another machine each time: only the effects are counted at one place."""
                    return Coder(model.base_url, Path(folder, str(next(numbers))), effects)

                yield AdapterScenario(
                    adapter=lambda: coder().adapter(),
                    text="think trees",
                    approval="send a",
                    question="book friday",
                    answer={"When on friday?": "5"},
                    edited={"to": "c", "body": "edited"},
                    slow="slow",
                    subagent="lookinside h",
                    beside="mixed d",
                    twice="twice e",
                    stages="sendlook f",
                    acting="slowlytwice g",
                    image="look at this",
                    heard=lambda: model.requests[-1]["messages"],
                    arrives="5",
                    executed=lambda: [
                        *(json.loads(line) for line in lines_of(effects)),
                        *model.answers,
                    ],
                    patience=60,
                )
