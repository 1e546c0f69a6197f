"""The conformance kit on two bridges in front of a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agui_bridge.conformance import Config, run_suite
from tests.adapters.dbos.bench import Worker, place

pytestmark = [pytest.mark.soak, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[3]
APPLIES_NOT = {
    # It asks one thing at a time, calls no tools of applications, and has no sub-agents.
    *("parallel.both", "parallel.one-cancelled", "parallel.one-declined", "refuse.partial"),
    *("answer.asked-amid", "other.frontend-result", "other.frontend-success"),
    *("other.subagent-interrupt", "other.subagent-nesting", "refuse.garbage-confirmation"),
    # Nobody signs in at these bridges, and the drafts' dialect is the bridge's own matter.
    *("memory.foreign-principal", "draft.pause", "draft.resume", "draft.stale"),
}


def config_for(folder: Path) -> Config:
    """How the kit starts two bridges on one store, and makes workflows ask."""
    url = "http://127.0.0.1:{port}"
    command = ["{python}", "-m", "tests.adapters.dbos.bridging", "--port", "{port}"]
    command += ["--effects", f"{folder}/none.jsonl", "--lease", "3"]
    return Config.model_validate(
        {
            "name": "workflows",
            "url": f"{url}/agents/target",
            "capabilities": f"{url}/agents/target/capabilities",
            "prompts": {
                "approval": "deploy {marker}",
                "expiring": "brief {marker}",
                "form": "order {marker}",
                "falsy": "free {marker}",
                "text": "hello {marker}",
                "slow": "slow {marker}",
            },
            "answers": {
                "edit": {"approved": True, "editedArgs": {"version": "{marker}-edited"}},
                "bad_edits": [{"approved": True, "editedArgs": {"version": 1}}],
                "form": {"size": "M"},
                "bad_form": [{"size": "XL"}, {}, "M"],
            },
            "executions": {"file": f"{folder}/dbos-effects.jsonl"},
            "server": {
                "command": [*command, "--store", f"sqlite:///{folder}/target.db"],
                "ready": f"{url}/readyz",
                "ports": [0, 0],
                "folder": ROOT,
            },
            "stop": {"url": f"{url}/agents/target/threads/{{thread}}/stop"},
            "settle": 0.3,
            "timeout": 60.0,
        }
    )


async def test_two_bridges_in_front_of_workflows_pass_every_check_that_applies(
    tmp_path: Path,
) -> None:
    with place(tmp_path, "postgres") as kept:
        told = {"database": kept.database, "schema": kept.schema, "patience": 20.0}
        (tmp_path / "dbos.json").write_text(json.dumps(told))
        worker = Worker(kept)
        try:
            report = await run_suite(config_for(tmp_path))
        finally:
            worker.kill()
    wrong = [r for r in report.results if r.status in ("fail", "blocked")]
    assert not wrong, "\n".join(f"{r.check.id}: {r.detail}" for r in wrong)
    skipped = {result.check.id for result in report.results if result.status == "skip"}
    assert skipped == APPLIES_NOT
