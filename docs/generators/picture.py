"""The picture of a run with an interrupt, drawn from what a real bridge sends and stores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final
from unittest.mock import patch

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.streaming import event_stream as stream
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from agui_bridge.protocol.wire.sse import encode
from agui_bridge.stores.base import Committed, Expected
from agui_bridge.stores.memory import MemoryStore

LANES: Final = {"page": 82, "bridge": 352, "agent": 560, "store": 716}
TITLES: Final = {
    "page": "Frontend",
    "bridge": "agui-bridge",
    "agent": "Your agent",
    "store": "Store",
}
STEP: Final = 30
TOP: Final = 78
WIDTH: Final = 800

Row = tuple[str, str, str]
"""From, to, label; a note has the same lane twice."""

_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; }
  .note { font-style: italic; fill: #57606a; }
  .lane { stroke: #afb8c1; stroke-dasharray: 3 4; }
  .arrow { stroke: #0969da; stroke-width: 1.4; fill: none; }
  .head { fill: #0969da; }
  .box { fill: #ddf4ff; stroke: #0969da; }
  .gap { fill: #fff8c5; stroke: #d4a72c; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note { fill: #9198a1; }
    .lane { stroke: #3d444d; }
    .box { fill: #0c2d6b; stroke: #4493f8; }
    .arrow { stroke: #4493f8; }
    .head { fill: #4493f8; }
    .gap { fill: #3b2e04; stroke: #9e6a03; }
  }
"""


def picture_of_a_run() -> str:
    """The picture as SVG."""
    return _draw(list(_merged(asyncio.run(_watch()))))


class _WatchedStore(MemoryStore):
    """Notes what is committed."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self._rows = rows

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        claims = self._rows[-1][:2] == ("page", "bridge")
        committed = await super().commit(key, change, expected, write_id)
        self._rows.append(("bridge", "store", _what(change, claims)))
        return committed


def _what(change: Change, claims: bool) -> str:
    statuses = {row.status for row in change.interrupts}
    if claims:
        return "the claim: one wins" if statuses else "the message"
    if InterruptStatus.OPEN in statuses:
        return "the interrupt"
    if InterruptStatus.RESOLVED in statuses:
        return "the result"
    return "the end"


async def _watch() -> list[Row]:
    rows: list[Row] = []
    bridge = Bridge(_WatchedStore(rows))

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> Any:
        rows.append(("bridge", "agent", "run"))
        yield "I will delete 1,234 rows."
        approval = await run.approve("delete_rows", {"table": "users"})
        yield await run.tool(approval, delete_rows)

    async def delete_rows(table: str) -> str:
        rows.append(("agent", "agent", "delete_rows, once"))
        return "1,234 rows deleted"

    def sent(event: dict[str, Any]) -> bytes:
        rows.append(("bridge", "page", _label(event)))
        return encode(event)

    message = {"id": "m1", "role": "user", "content": "clean up"}
    with patch.object(stream, "encode", sent):
        rows.append(("page", "bridge", "POST /agents/ops: a message"))
        end = await _run(bridge, {"messages": [message]})
        rows.append(("gap", "gap", "a reload, a restart, another replica, an hour"))
        (ask,) = end["outcome"]["interrupts"]
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
        for label in ("POST: resume, approved", "POST: the same resume again"):
            rows.append(("page", "bridge", label))
            await _run(bridge, {"messages": [], "resume": [entry]})
        rows.append(("bridge", "bridge", "answered from the store"))
    await bridge.aclose()
    return rows


async def _run(bridge: Bridge, members: Mapping[str, Any]) -> Mapping[str, Any]:
    body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", **members}
    engine = await bridge.open()
    pipe, events = engine.submit(Submission(bridge.agents["ops"], Principal(), parse_input(body)))
    while await pipe.read():
        pass
    assert events.terminal is not None
    return events.terminal


def _label(event: Mapping[str, Any]) -> str:
    if event["type"] == "RUN_FINISHED":
        return f"RUN_FINISHED: {event['outcome']['type']}"
    for kind in ("TEXT_MESSAGE", "TOOL_CALL"):
        if event["type"].startswith(kind) and event["type"] != "TOOL_CALL_RESULT":
            return f"{kind}_*"
    return "*_SNAPSHOT" if event["type"].endswith("SNAPSHOT") else str(event["type"])


def _merged(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows with what goes the same way in one arrow, where nothing stands between."""
    for (source, target), group in groupby(rows, key=lambda row: row[:2]):
        labels = list(dict.fromkeys(label for _, _, label in group))
        if (source, target) != ("bridge", "page"):
            yield from ((source, target, label) for label in labels)
            continue
        while labels:
            yield source, target, ", ".join(labels[:2])
            del labels[:2]


def _draw(rows: Sequence[Row]) -> str:
    height = TOP + STEP * len(rows) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" '
        'aria-label="A run that asks for an approval, and the run that carries it out">',
        f"<style>{_STYLE}</style>",
    ]
    for lane, x in LANES.items():
        parts.append(f'<line class="lane" x1="{x}" x2="{x}" y1="44" y2="{height - 10}"/>')
        parts.append(f'<rect class="box" x="{x - 62}" y="12" width="124" height="32" rx="6"/>')
        parts.append(
            f'<text class="title" x="{x}" y="33" text-anchor="middle">{TITLES[lane]}</text>'
        )
    for index, (source, target, label) in enumerate(rows):
        parts += _row(TOP + STEP * index, source, target, escape(label))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _row(y: int, source: str, target: str, label: str) -> Iterator[str]:
    if source == "gap":
        yield f'<rect class="gap" x="20" y="{y - 18}" width="{WIDTH - 40}" height="24" rx="5"/>'
        yield f'<text class="note" x="{WIDTH // 2}" y="{y - 1}" text-anchor="middle">{label}</text>'
        return
    start, end = LANES[source], LANES[target]
    if source == target:
        yield f'<circle class="head" cx="{start}" cy="{y - 4}" r="4"/>'
        yield f'<text class="note" x="{start + 12}" y="{y}">{label}</text>'
        return
    tip = end - 7 if end > start else end + 7
    yield f'<path class="arrow" d="M{start} {y} H{tip}"/>'
    back = end - 8 if end > start else end + 8
    yield f'<path class="head" d="M{end} {y} L{back} {y - 4} V{y + 4} Z"/>'
    # Over the first gap that the arrow crosses, so that no lane runs through the label.
    middle = (start + LANES["agent"]) // 2 if target == "store" else (start + end) // 2
    yield f'<text x="{middle}" y="{y - 6}" text-anchor="middle">{label}</text>'
