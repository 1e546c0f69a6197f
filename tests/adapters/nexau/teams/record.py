"""Records every case on a real NexAU: `python -m tests.adapters.nexau.teams.record [CASE …]`.

It needs what `tests.adapters.nexau.real.record` needs: a NexAU that serves `real/serve.py`, whose
address is NEXAU_URL, and that looks for its model at the port NEXAU_MODEL_PORT of 127.0.0.1. It
keeps its sessions: serve it anew each time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx

from tests.adapters.nexau.real.carry_out import HERE, URL, scripted_model
from tests.adapters.nexau.real.model import Script
from tests.adapters.nexau.real.recorder import Recorder
from tests.adapters.nexau.teams.cases import CASES, Case
from tests.adapters.nexau.teams.replay import TEAM_RECORDINGS
from tests.adapters.nexau.teams.story import tell


async def record(case: Case) -> list[dict[str, Any]]:
    """Carry a case out on a real NexAU; gives what went over the wire."""
    recorder = Recorder(URL, lambda _: None)
    recorder.cut = case.cut
    other: asyncio.Task[Any] | None = None
    theirs = {"user_id": "default", "session_id": f"{case.name}-case"}
    async with scripted_model() as model:
        model.scripts.update({said: Script(steps) for said, steps in case.scripts.items()})
        async with httpx.AsyncClient(base_url=URL, timeout=60) as client:
            if case.taken:
                body = theirs | {"message": "theirs"}
                other = asyncio.create_task(client.post("/team/stream", json=body))
                await model.scripts["theirs"].held.wait()
            try:
                story = await tell(
                    case, recorder.app, lambda said: model.scripts[said].gate.set(), _at_once
                )
            finally:
                for script in model.scripts.values():
                    script.gate.set()
                await recorder.aclose()
            print(case.name, *story.outcomes, story.asked_by, *story.shown, sep="\n  ")
            for line in recorder.lines:
                if "stream" in line:
                    print("  sent", line["body"])
            if other is not None:
                await client.post("/team/stop", json=theirs)
                await other
        return recorder.lines


async def _at_once() -> None:
    await asyncio.sleep(0)


async def main(names: list[str]) -> None:
    """Record cases."""
    if not HERE:
        raise SystemExit(__doc__)
    TEAM_RECORDINGS.mkdir(exist_ok=True)
    for case in CASES:
        if not names or case.name in names:
            lines = await record(case)
            path = TEAM_RECORDINGS / f"{case.name}.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
