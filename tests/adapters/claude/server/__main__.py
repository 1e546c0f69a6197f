"""Claude Code behind the bridge as a process with a model of its own: as another machine."""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from claude_agent_sdk import tool

from agui_bridge import Bridge, Settings
from agui_bridge.http.server import serve
from tests.adapters.claude.coder import MAIL, Coder, text
from tests.adapters.claude.model import FakeClaude


class Mailer(Coder):
    """A coder whose tool may take the process with it."""

    def effect(self, what: Any) -> None:
        super().effect({**what, "to": f"{what['to']}-0@example.com"})

    def tools(self) -> list[Any]:
        @tool("crash", "Send an e-mail, and die of it.", MAIL)
        async def crash(args: dict[str, Any]) -> dict[str, Any]:
            self.effect(args)
            os.kill(os.getpid(), signal.SIGKILL)
            return text("unreachable")

        return [*super().tools(), crash]


def main() -> None:
    """Serve it until it is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--store")
    parser.add_argument("--lease", type=float)
    given = parser.parse_args()
    model = FakeClaude()
    model.serve_in_thread()
    coder = Mailer(model.base_url, Path(tempfile.mkdtemp(dir=given.effects.parent)), given.effects)
    bridge = Bridge(given.store, settings=Settings(lease_seconds=given.lease))
    bridge.add("mailer", coder.adapter())
    serve(bridge, "127.0.0.1", given.port, log_level="warning")


if __name__ == "__main__":
    main()
