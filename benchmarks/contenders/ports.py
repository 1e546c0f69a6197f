"""Ports for servers."""

from __future__ import annotations

import random
import socket


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    while True:
        # Below those that the system gives to outgoing connections, of which there are many.
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
