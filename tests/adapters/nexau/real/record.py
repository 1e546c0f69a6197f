"""Records every case on a real NexAU: `python -m tests.adapters.nexau.real.record [PHASE …]`.

It needs an agent that NexAU serves with `serve.py`: NEXAU_URL is its address, and
NEXAU_MODEL_PORT the port of 127.0.0.1 where it looks for its model.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.adapters.nexau.real.carry_out import HERE, on_nexau, scripted_model
from tests.adapters.nexau.real.phases import PHASES
from tests.adapters.nexau.real.replay import PHASE_RECORDINGS, recording_of


async def main(names: list[str]) -> None:
    """Record cases, and say what is wrong with them."""
    if not HERE:
        raise SystemExit(__doc__)
    PHASE_RECORDINGS.mkdir(exist_ok=True)
    async with scripted_model() as model:
        for phase in PHASES:
            for force in (False, True):
                if names and phase.name not in names:
                    continue
                faults, lines, job = await on_nexau(model, phase, force=force, other=False)
                path = recording_of(phase.name, force=force)
                text = "".join(json.dumps(line) + "\n" for line in lines)
                path.write_text(text.replace(job, "case"))
                print(path.name, faults or "ok")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
