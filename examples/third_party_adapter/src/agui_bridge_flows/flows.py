"""Flows, a small framework: an agent that deploys what it is told to, if somebody approves.

A flow that waits is a file `FLOW.json` in a folder, what was deployed a line of `deployed.jsonl`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Deployed", "FlowEvent", "Flows", "FlowsAreDown", "NeedsApproval", "Said"]

WORD_SECONDS = 0.05


class FlowsAreDown(Exception):
    """The folder is not there."""


@dataclass(frozen=True)
class Said:
    """The agent says something."""

    text: str


@dataclass(frozen=True)
class NeedsApproval:
    """The flow waits until it is resumed."""

    flow: str
    call: str
    version: str


@dataclass(frozen=True)
class Deployed:
    """A version was deployed."""

    call: str
    version: str


FlowEvent = Said | NeedsApproval | Deployed


class Flows:
    """The framework, on one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def start(self, prompt: str) -> AsyncIterator[FlowEvent]:
        """Begin a flow: "deploy VERSION" asks, "watch" takes long, all else is answered."""
        self._check()
        verb, _, version = prompt.partition(" ")
        if verb == "deploy":
            flow, call = secrets.token_hex(8), f"deploy-{secrets.token_hex(4)}"
            yield Said(f"I will deploy {version}. ")
            self._file(flow).write_text(json.dumps({"call": call, "version": version}))
            yield NeedsApproval(flow, call, version)
        elif verb == "watch":
            for number in range(10_000):
                yield Said(f"{number} machines are up. ")
                await asyncio.sleep(WORD_SECONDS)
        else:
            yield Said("I deploy: say `deploy v2.0`.")

    async def resume(self, flow: str, version: str | None) -> AsyncIterator[FlowEvent]:
        """Go on: deploy a version, or none."""
        self._check()
        waiting = json.loads(self._file(flow).read_text())
        self._file(flow).unlink()
        if version is None:
            yield Said("Nothing was deployed.")
            return
        with (self._folder / "deployed.jsonl").open("a") as log:
            log.write(json.dumps({"version": version}) + "\n")
        yield Deployed(waiting["call"], version)
        yield Said(f"{version} is deployed.")

    def release(self, flow: str) -> None:
        """Forget a flow that nobody resumes any more."""
        self._file(flow).unlink(missing_ok=True)

    def _check(self) -> None:
        if not self._folder.is_dir():
            raise FlowsAreDown(self._folder)

    def _file(self, flow: str) -> Path:
        return self._folder / f"{flow}.json"
