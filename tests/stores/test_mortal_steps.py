"""A run of ten steps whose process is killed with SIGKILL, at each point of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.protocol.threads.records import ThreadStatus
from agui_bridge.stores.open import open_store
from tests.stores.conftest import COMPARED, Backend
from tests.stores.mortal_steps import LEASE, STEPS, stepping

COMMITS = 2 * STEPS + 2
POINTS: list[dict[str, Any]] = [
    *({"dies_at": at, "written": written} for at in range(1, COMMITS + 1) for written in (0, 1)),
    *({"act": f"{when} {number}"} for number in range(STEPS) for when in ("before", "after")),
]
"""Before and after each write, and before and after what each act does."""


def amid(point: dict[str, Any]) -> int | None:
    """The act that had begun, and had no result, where the process was killed."""
    if "act" in point:
        return int(str(point["act"]).split()[1])
    at, written = int(str(point["dies_at"])), bool(point["written"])
    begun, rest = divmod(at - 1 + written, 2)
    return begun - 1 if rest == 0 and 0 < begun <= STEPS else None


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", COMPARED, ids=lambda backend: backend.name)
async def test_it_goes_on_and_no_step_is_done_twice(backend: Backend, tmp_path: Path) -> None:
    assert backend.url is not None
    url, effects = backend.url(tmp_path), tmp_path / "effects"
    await (await open_store(url)).aclose()
    lines = [
        json.dumps({"url": url, "thread": f"t{n}", "effects": str(effects), **point})
        for n, point in enumerate(POINTS)
    ]
    child = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.stores.mortal_steps"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert child.stdout.split() == ["-9"] * len(POINTS), child.stderr
    await asyncio.sleep(LEASE)
    # Two processes find the same runs, at once.
    stores = [await open_store(url) for _ in range(2)]
    made = [stepping(store, "t0", effects) for store in stores]
    for _ in range(3):
        await asyncio.gather(*(sweep(b.store, mint, b.engine.looks.take) for b in made))
        for bench in made:
            await asyncio.gather(*list(bench.engine._tasks))
    acts = [json.loads(line) for line in effects.read_text().splitlines()]
    for number, point in enumerate(POINTS):
        thread, open_act = f"t{number}", amid(point)
        loaded = await stores[0].load(stepping(stores[0], thread, effects).KEY)
        done = Counter(act for name, act, _ in acts if name == thread)
        keys = {(act, key) for name, act, key in acts if name == thread}
        if loaded.record is None:
            assert (point, done) == ({"dies_at": 1, "written": 0}, {})
            continue
        ended = loaded.record.ended
        assert loaded.status is ThreadStatus.IDLE and ended is not None, point
        assert len(keys) == len(done), point
        again = {act for act, times in done.items() if times > 1}
        if open_act is not None and open_act % 3 != 2:
            assert (ended.outcome, again) == ("lost", set()), point
            continue
        assert (ended.outcome, set(done)) == ("finished", set(range(STEPS))), point
        assert again <= {open_act}, point
    for store in stores:
        await store.aclose()
