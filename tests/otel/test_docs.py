"""docs/observability.md tells of all there is, and its snippet works."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from agui_bridge.otel.semantic_conventions import ATTRIBUTES, DECISION, METRICS, SPANS
from agui_bridge.otel.telemetry import _name
from agui_bridge.protocol.contract.requests import Ruling

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")


def test_every_attribute_of_a_table_is_told_of() -> None:
    told = [entry.attributes for entry in SPANS.values()]
    told += [entry.attributes for entry in METRICS.values()]

    assert {name for names in told for name in names} == set(ATTRIBUTES)


def test_only_spans_carry_what_clients_choose() -> None:
    chosen = {"gen_ai.conversation.id", "agui.run.id"}

    assert [name for name, metric in METRICS.items() if chosen & {*metric.attributes}] == []


RUN_IT = """
import asyncio
from agui_bridge import Principal
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input

async def run_it():
    async with bridge.lifespan():
        message = {"id": "m1", "role": "user", "content": "hello"}
        body = {"threadId": "t", "runId": "r", "messages": [message]}
        engine = await bridge.open()
        greeter = bridge.agents["greeter"]
        pipe, _ = engine.submit(Submission(greeter, Principal(), parse_input(body)))
        while await pipe.read():
            pass

asyncio.run(run_it())
"""


def test_the_snippet_prints_spans_and_metrics() -> None:
    # In a process of its own: OpenTelemetry's providers are set once and for all.
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet + RUN_IT],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert (run.returncode, run.stderr) == (0, "")
    assert '"name": "agui.run greeter"' in run.stdout
    assert '"name": "agui.runs"' in run.stdout


def test_every_ruling_of_admission_is_among_the_decisions_that_are_told() -> None:
    names = {_name(object.__new__(ruling)) for ruling in get_args(Ruling)}
    assert names == {*re.findall(r"`(\w+)`", ATTRIBUTES[DECISION])}
