"""The reference agent, judged by the kit over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from agui_bridge.conformance import CHECKS, Check, Result
from agui_bridge.conformance.config import Answers, Config, Executions, Prompts, StopRequest
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.runner import run_checks
from tests.conformance.reference import Reference
from tests.conformance.reference_thread import Store
from tests.support.server import serve

__all__ = ["judge", "reference_lab"]

LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=8)
"""Few idle ones: the pool looks at each of them for every request."""


@asynccontextmanager
async def reference_lab(*flaws: str) -> AsyncIterator[Lab]:
    """Two processes of the reference agent on one store, and how to judge them."""
    store = Store()
    first, second = Reference(store, *flaws), Reference(store, *flaws)

    async def restart() -> None:
        first.restart()

    async with (
        serve(first.app()) as url,
        serve(second.app()) as second_url,
        httpx.AsyncClient(timeout=120, verify=False, trust_env=False, limits=LIMITS) as client,
    ):
        yield Lab(_config(url), client, f"{url}/agent", f"{second_url}/agent", {}, restart)


async def judge(*flaws: str, checks: Sequence[Check] = CHECKS) -> dict[str, Result]:
    """The results of the reference agent with some flaws, by the check's id."""
    async with reference_lab(*flaws) as lab:
        return {result.check.id: result for result in await run_checks(lab, checks)}


def _config(url: str) -> Config:
    return Config(
        headers={"Authorization": "ann"},
        foreign_headers={"Authorization": "bob"},
        capabilities=f"{url}/capabilities",
        draft_url=f"{url}/agent?dialect=draft",
        timeout=120,
        settle=0.04,
        races=5,
        concurrency=20,
        expires_after=0.6,
        prompts=Prompts(
            approval="send {marker}",
            parallel="both {marker}",
            confirmation="confirmation {marker}",
            form="form {marker}",
            amid="amid {marker}",
            falsy="falsy {marker}",
            expiring="brief {marker}",
            text="hello {marker}",
            slow="slow 100",
            subagents="nested {marker}",
            frontend="frontend {marker}",
        ),
        answers=Answers(
            edit={"approved": True, "editedArgs": {"to": "{marker}-edited", "body": "new"}},
            bad_edits=({"approved": True, "editedArgs": {"to": "{marker}"}},),
            near_misses=({"approved": "true"}, {"approved": 1}, {}, "no", None),
            form={"year": 2026},
            amid={"year": 2026},
            bad_form=({"year": "2026"}, {}),
        ),
        executions=Executions(url=f"{url}/effects?marker={{marker}}"),
        restart=None,
        stop=StopRequest(url=f"{url}/stop/{{thread}}"),
    )
