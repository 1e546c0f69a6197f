"""A peer and the bridge before it: `python -m tests.servers.peers.behind adk --port 8787`."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from agui_bridge import BearerTokens, Bridge
from agui_bridge.http.server import serve
from agui_bridge_agui import AguiAdapter
from examples.approval_target import TOKENS, Email
from tests.servers.peers.peer import VARIANTS, running

__all__: list[str] = []


def main() -> None:
    """Serve both until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--url", help="of a peer that runs already")
    options = parser.parse_args()
    variant, folder = VARIANTS[options.variant], options.folder
    with (
        contextlib.nullcontext(options.url)
        if options.url
        else running(variant, options.environments, folder, folder / "effects.jsonl")
    ) as url:
        bridge = Bridge(f"sqlite:///{folder}/proxy.db", authenticate=BearerTokens(TOKENS))
        schemas = {"send_email": Email.model_json_schema()}
        bridge.add("agent", AguiAdapter(url, peer=variant.peer, tool_schemas=schemas))
        serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
