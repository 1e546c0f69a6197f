"""What the conformance kit sees of peers alone, and behind two bridges on one store.

    python -m tests.servers.peers.measure --environments DIR [--output DIR] [NAME…]

For each it prints how many of the applicable checks pass, and which don't.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Final

from agui_bridge.conformance import Report, load, run_suite
from tests.servers.peers.peer import VARIANTS, Variant, python_of

__all__ = ["main"]

_COMMON: Final = """
name = "{name}"
timeout = 60
concurrency = {at_once}
url = "http://127.0.0.1:{{port}}{path}"
{more}
[prompts]
approval = "send {{marker}}"
parallel = "both {{marker}}"
text = "hello {{marker}}"
slow = "slow 60"

[answers]
{answers}

[executions]
file = "{{folder}}/effects.jsonl"

[server]
command = [{command}]
ready = "http://127.0.0.1:{{port}}{ready}"
ports = [0, 0]
"""

_EDITS: Final = """
edit = { approved = true, editedArgs = { to = "{marker}-edited", body = "edited" } }
bad_edits = [{ approved = true, editedArgs = { to = 1 } }, { approved = true, editedArgs = "all" }]
"""

_BEHIND: Final = """
headers = { Authorization = "Bearer ann-of-the-approval-target" }
foreign_headers = { Authorization = "Bearer bob-of-the-approval-target" }
capabilities = "http://127.0.0.1:{port}/agents/agent/capabilities"
"""

_STOP: Final = """
[stop]
url = "http://127.0.0.1:{port}/agents/agent/threads/{thread}/stop"
"""


def _command(*words: str) -> str:
    return ", ".join(f'"{word}"' for word in words)


def direct(name: str, variant: Variant, environments: Path) -> str:
    """The kit's configuration for a peer alone."""
    command = _command(
        str(python_of(variant.module, environments)),
        *("-m", f"tests.servers.peers.{variant.module}", "--port", "{port}"),
        *("--effects", "{folder}/effects.jsonl", "--folder", "{folder}", *variant.options),
    )
    return _COMMON.format(
        name=name,
        at_once=variant.at_once,
        path=variant.path,
        more="",
        answers=_EDITS if variant.edits else "",
        command=command,
        ready="/openapi.json",
    )


def behind(name: str, variant: Variant, environments: Path) -> str:
    """The kit's configuration for a peer behind the bridge."""
    command = _command(
        *("{python}", "-m", "tests.servers.peers.behind", name, "--port", "{port}"),
        *("--environments", str(environments), "--folder", "{folder}"),
    )
    text = _COMMON.format(
        name=f"{name} behind the bridge",
        at_once=variant.at_once,
        path="/agents/agent",
        more=_BEHIND,
        answers=_EDITS if variant.edits else "",
        command=command,
        ready="/readyz",
    )
    return text + _STOP


async def judge(text: str) -> Report:
    """Run the kit with a configuration."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return await run_suite(load(Path(file.name)))


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*VARIANTS])
    parser.add_argument("--environments", type=Path, required=True)
    options = parser.parse_args()
    for name in options.names:
        variant = VARIANTS[name]
        for make in (direct, behind):
            report = asyncio.run(judge(make(name, variant, options.environments.absolute())))
            judged = [r for r in report.results if r.status != "skip"]
            failed = [r for r in judged if r.status != "pass"]
            print(f"{name} {make.__name__}: {len(judged) - len(failed)}/{len(judged)}", flush=True)
            for result in failed:
                detail = " ".join(result.detail.split())
                print(f"  {result.check.id} ({result.check.severity}): {detail:.160}", flush=True)


if __name__ == "__main__":
    main()
