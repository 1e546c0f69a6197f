"""What the conformance kit sees of a peer: alone, and behind one and two bridges on one store."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agui_bridge.conformance import Config, Report, Result, run_suite
from examples.approval_target import TOKENS
from tests.servers.peers.peer import ENVIRONMENT, Variant, python_of, running


@dataclass(frozen=True, slots=True)
class Setting:
    """One way in which a peer is judged.

    Attributes:
        name: for readers.
        processes: how many the kit starts.
        bridged: whether the bridge stands before it.
    """

    name: str
    processes: int
    bridged: bool


SETTINGS: Final = (
    Setting("alone", 2, bridged=False),
    Setting("behind, one process", 1, bridged=True),
    Setting("behind, two processes", 2, bridged=True),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A peer in one setting.

    Attributes:
        report: the kit's.
        twice: of how many calls the tool's own file has more than one line.
        logs: what the peers behind a bridge wrote.
    """

    report: Report
    twice: int
    logs: str


_EDITS: Final = {
    "edit": {"approved": True, "editedArgs": {"to": "{marker}-edited", "body": "edited"}},
    "bad_edits": [
        {"approved": True, "editedArgs": {"to": 1}},
        {"approved": True, "editedArgs": "all"},
    ],
}
_BASE: Final = "http://127.0.0.1:{port}"
_AGENT: Final = f"{_BASE}/agents/agent"


def judge(
    name: str,
    variant: Variant,
    setting: Setting,
    environments: Path,
    told: Callable[[Result], None] = lambda result: None,
) -> Judged:
    """Run the kit.

    Args:
        name: of the variant.
        variant: what is judged.
        setting: and how.
        environments: where the environments of the peers are.
        told: is told each result as it comes.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="matrix-")))
        effects = folder / "effects.jsonl"
        if setting.bridged:
            command = ["{python}", "-m", "tests.servers.peers.behind", name]
            command += ["--environments", str(environments)]
            if variant.shared:
                running_peer = running(variant, environments, folder, effects)
                command += ["--url", stack.enter_context(running_peer)]
            own = _BEHIND
        else:
            command = [str(python_of(variant.module, environments))]
            command += ["-m", f"tests.servers.peers.{variant.module}", *variant.options]
            command += ["--effects", str(effects)]
            own = {"url": f"{_BASE}{variant.path}", "memory": variant.memory}
        command += ["--port", "{port}", "--folder", str(folder)]
        ready = f"{_BASE}/readyz" if setting.bridged else None
        own_answers = {} if setting.bridged and variant.translated else variant.answers
        config = Config.model_validate(
            {
                "name": f"{name} {setting.name}",
                "timeout": 60,
                "concurrency": variant.at_once,
                "prompts": variant.prompts,
                "answers": {**(_EDITS if variant.edits else {}), **own_answers},
                "executions": {"file": effects},
                "server": {
                    "command": command,
                    "ready": ready,
                    "ports": [0] * setting.processes,
                    "environment": ENVIRONMENT,
                },
                **own,
            }
        )
        report = asyncio.run(run_suite(config, told=told))
        logs = [log.read_text(errors="replace") for log in sorted(folder.glob("*.log"))]
        return Judged(report, _twice(effects), "".join(logs))


def _as(actor: str) -> dict[str, str]:
    (token,) = (token for token, principal in TOKENS.items() if principal.actor == actor)
    return {"Authorization": f"Bearer {token}"}


_BEHIND: Final[dict[str, Any]] = {
    "url": _AGENT,
    "headers": _as("ann"),
    "foreign_headers": _as("bob"),
    "capabilities": f"{_AGENT}/capabilities",
    "stop": {"url": f"{_AGENT}/threads/{{thread}}/stop"},
}


def _twice(effects: Path) -> int:
    """Every thread has a marker, and so every call an address, of its own."""
    lines = effects.read_text(encoding="utf-8").splitlines() if effects.exists() else []
    return sum(n > 1 for n in Counter(json.loads(line)["to"] for line in lines).values())


def unkept(report: Report) -> list[Result]:
    """The checks that failed, or could not be judged since what they build on failed."""
    return [result for result in report.results if result.status in ("fail", "blocked")]


def worse(alone: Report, behind: Report) -> list[str]:
    """The checks that pass alone and not behind the bridge."""
    before = {result.check.id: result.status for result in alone.results}
    return [r.check.id for r in unkept(behind) if before.get(r.check.id) == "pass"]
