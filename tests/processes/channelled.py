"""The approval target with an inbox, and with a Slack whose methods are served elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agui_bridge import Principal
from agui_bridge.channels.slack import Slack
from agui_bridge.http.server import serve
from agui_bridge.inbox import Inbox
from examples.approval_target import make_bridge
from tests.channels.receivers import SIGNING_SECRET

__all__ = ["INBOX", "main"]

INBOX: Final = Inbox(url="http://127.0.0.1", keys=["a-key-of-the-tests-0123456789"])


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--lease", type=float)
    parser.add_argument("--store")
    parser.add_argument("--slack")
    options = parser.parse_args()
    slack = Slack(
        *("xoxb-token", SIGNING_SECRET, "C1"),
        lambda user: Principal(actor=user.id),
        api=options.slack,
        per_second=1000,
        show_args=True,
    )
    bridge = make_bridge(
        options.store,
        options.effects,
        lease_seconds=options.lease,
        inbox=INBOX,
        channels={"slack": slack},
    )
    serve(bridge, "127.0.0.1", options.port, log_level="warning")
