"""Ports for servers that several runs of tests start at once on one machine."""

from __future__ import annotations

import itertools
import os
import random
import socket

__all__ = ["free_port"]

FIRST, BEYOND = 10_240, 20_000
"""Below those that the system gives away, with room for a Redis cluster's own port 10000 above."""


def _own() -> list[int]:
    """The ports that no other worker of this run gives away, in an order of its own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = max(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")), worker + 1)
    ports = list(range(FIRST + worker, BEYOND, workers))
    random.SystemRandom().shuffle(ports)
    return ports


_PORTS = itertools.cycle(_own())


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that is not given away again soon."""
    # A server listens half a second after it was told its port: one drawn anew each time would now
    # and then be another one's too.
    for port in _PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("unreachable: it goes round")
