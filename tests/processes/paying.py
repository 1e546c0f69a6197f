"""A target whose tool asks for a code in its middle, and pays once it has that.

Each message is the name of a payment, `approved NAME` of one that people approve first. The tool
adds a line when it begins a payment, and another one when it has paid.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_bridge import Answer, Ask, Bridge, FunctionRun, NeedsInput, Settings, answered
from agui_bridge.http.server import serve

__all__ = ["main"]

CODE = {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}


def make_paying(store: str, effects: Path, lease: float) -> Bridge:
    """The bridge with its one agent."""
    bridge = Bridge(store, settings=Settings(lease_seconds=lease))

    def note(**line: Any) -> None:
        with effects.open("a") as file:
            file.write(json.dumps(line) + "\n")

    async def pay(name: str) -> Any:
        given = answered()
        if given is None:
            note(begun=name)
            ask = Ask("code", message=f"The code for {name}?", response_schema=CODE)
            return NeedsInput([ask], {"payment": f"p-{name}"})
        code = given.answers["code"]
        if not isinstance(code, Answer):
            return f"{name} was not paid"
        note(paid=name, code=code.payload["code"], payment=given.state["payment"])
        return f"{name} was paid"

    @bridge.agent("target")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        first, _, name = run.text.rpartition(" ")
        if first == "approved":
            approval = await run.approve("pay", {"name": name})
            yield str(await run.tool(approval, pay)) if approval else "declined"
        else:
            yield str(await run.call("pay", {"name": name}, pay))

    return bridge


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--lease", type=float)
    parser.add_argument("--store")
    options = parser.parse_args()
    bridge = make_paying(options.store, options.effects, options.lease)
    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
