"""Records what real peers say: `python -m tests.servers.peers.record --environments DIR [NAME…]`.

A name is that of a variant, as `adk`, or of one conversation with it, as `adk.both`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.servers.peers.peer import VARIANTS, python_of, running
from tests.servers.peers.recording import RECORDINGS, Recorder
from tests.servers.peers.scenario import conversation, scenarios_of
from tests.support.effects import lines_of
from tests.support.server import serve

__all__ = ["measured_with"]

FOLDER: Final = Path(__file__).parent


def measured_with(module: str) -> list[str]:
    """The packages that a peer is made of, as `name==version`, the one that serves AG-UI first."""
    made_of, _, _ = (FOLDER / f"{module}.txt").read_text(encoding="utf-8").partition("#")
    return [line.replace("[ag-ui]", "") for line in made_of.splitlines()]


async def record(name: str, url: str, effects: Path) -> None:
    """Have one conversation with a peer, and keep what it said."""
    before = _executed(effects)
    recorder = Recorder(url)
    async with serve(recorder.app(), lifespan="off") as base:
        told = await conversation(name, f"{base}/agent")
    executed = _executed(effects)[len(before) :]
    module = VARIANTS[name.partition(".")[0]].module
    recorder.write(name, measured_with(module)[0], sorted(executed))
    print(f"{name}: {told.endings}, executed {executed}, {told.results}", flush=True)


def _executed(effects: Path) -> list[str]:
    return [json.loads(line)["to"] for line in lines_of(effects)]


def _check(module: str, environments: Path) -> None:
    """Refuse an environment that has other versions than the recordings speak of."""
    frozen = subprocess.check_output(
        [str(python_of(module, environments)), "-m", "pip", "freeze"], text=True
    )
    have = {line.lower().replace("_", "-") for line in frozen.splitlines()}
    missing = [line for line in measured_with(module) if line.lower() not in have]
    if missing:
        raise SystemExit(f"The environment of {module} has other versions: {missing}.")


def main() -> None:
    """Record these, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*VARIANTS])
    parser.add_argument("--environments", type=Path, required=True)
    options = parser.parse_args()
    RECORDINGS.mkdir(exist_ok=True)
    environments = options.environments.absolute()
    for wanted, variant in VARIANTS.items():
        names = [f"{wanted}.{scenario}" for scenario in scenarios_of(wanted)]
        names = [name for name in names if name in options.names or wanted in options.names]
        if not names:
            continue
        _check(variant.module, environments)
        with tempfile.TemporaryDirectory() as folder:
            effects = Path(folder) / "effects.jsonl"
            with running(variant, environments, Path(folder), effects) as url:
                for name in names:
                    asyncio.run(record(name, url, effects))


if __name__ == "__main__":
    main()
