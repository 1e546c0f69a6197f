"""A workflow of DBOS that orders, once a person has said how large and has approved the order.

    python -m examples.dbos --port 8787

The workflow, its DBOS and the bridge are one process, and DBOS keeps what it does in a file of
SQLite. End the process while a question is open, and begin it again: both go on.
"""

import argparse
import json
from pathlib import Path
from typing import Literal

from dbos import DBOS

from agui_bridge import Bridge
from agui_bridge.http.server import serve
from agui_bridge_dbos import DBOSWorkflow, approve_async, ask_async, say_async
from examples.approval_target import LOOPBACK

Size = Literal["S", "M", "L"]
EFFECTS = Path("orders.jsonl")


@DBOS.step()
async def place_order(item: str, size: str) -> str:
    """Order it: a line of a file."""
    _append({"item": item, "size": size})
    return f"{item} in {size} is ordered"


def _append(line: dict[str, str]) -> None:
    with EFFECTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@DBOS.workflow()
async def order(item: str) -> str:
    """Order what the message names."""
    await say_async(f"Let me order {item}. ")
    size = await ask_async("Which size?", Size)
    if not size.answered:
        return "Nobody said which size."
    call = {"item": item, "size": size.payload}
    decided = await approve_async("place_order", call, parameters=place_order)
    if not decided.approved:
        return f"Nothing was ordered: {decided.reason or decided.status}."
    await say_async(await place_order(**decided.args), of=decided)
    return "Done."


def make_bridge(store: str) -> Bridge:
    """The bridge with its one agent.

    Args:
        store: store URL.
    """
    bridge = Bridge(store, cors_origin_regex=LOOPBACK)
    bridge.add("orders", DBOSWorkflow(order), description="Orders what was approved.")
    return bridge


def main() -> None:
    """Serve the agent until interrupted."""
    parser = argparse.ArgumentParser(description="A workflow of DBOS behind the bridge.")
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--store", default="sqlite:///orders.db", help="store URL of the bridge")
    parser.add_argument("--database", default="sqlite:///workflows.sqlite", help="of DBOS")
    options = parser.parse_args()
    DBOS(
        config={
            "name": "orders",
            "system_database_url": options.database,
            "executor_id": f"orders-{options.port}",
            "application_version": "1",
            "log_level": "WARNING",
        }
    )
    DBOS.launch()
    print(f"http://127.0.0.1:{options.port}/agents/orders   (Ctrl-C ends it)", flush=True)
    serve(make_bridge(options.store), "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
