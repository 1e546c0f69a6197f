"""A script beside the replicas: it serves nothing, and calls one method of the bridge.

Its arguments are the store, the file of effects, the file that the outcome goes to, the method
and the method's arguments as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from examples.approval_target import make_bridge

__all__ = ["main"]


def main() -> None:
    """Call it."""
    store, effects, outcome, method, arguments = sys.argv[1:]
    bridge = make_bridge(store, Path(effects))
    found = getattr(bridge, method)("target", *json.loads(arguments))
    Path(outcome).write_text(json.dumps(found, default=asdict))
