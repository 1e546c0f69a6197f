"""Sockets that listen, and their end, which loses no connection that a client believes to have.

The system makes connections by itself: a proxy may have sent a POST on one before anybody here has
seen it. To close a listening socket resets those, and the POST may not be sent to another replica.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import sys
from typing import Any, Final

from agui_bridge.errors import ConfigurationError

__all__ = ["begin_no_more", "listen", "take_connections"]

_BACKLOG: Final = 2048

_ATTACH_FILTER: Final = 26
"""Linux's SO_ATTACH_FILTER, which Python does not name."""

_NO_SYN: Final = (
    (0x30, 0, 0, 13),  # load the byte of TCP's flags
    (0x54, 0, 0, 0x12),  # of them SYN and ACK
    (0x15, 0, 1, 0x02),  # only SYN: a client begins
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # pass what else comes
)
"""A program for the system's packet filter: code, two jumps, operand."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address that a host name has here."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(_no_address(host)) from error
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, address in dict.fromkeys((info[0], info[4]) for info in found):
        try:
            # Of a free port that was taken for the first address the others take the same.
            free = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_listening(family, (address[0], free, *address[2:])))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                for listening in sockets:
                    listening.close()
                raise ConfigurationError(_taken(error, host, port)) from error
            failure = error
    if not sockets:
        raise ConfigurationError(_no_address(host)) from failure
    return sockets


def _listening(family: int, address: tuple[Any, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        # Now, so that of two processes the second learns it here.
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def begin_no_more(listening: socket.socket) -> None:
    """Let no client begin a connection, while those that are being made still come about.

    Between the last accept and the close there is always a moment, and under load somebody connects
    in it. Who is held back here tries again after a second, by itself, and is then refused: what a
    proxy may send to another replica. Only on Linux; elsewhere that moment remains.
    """
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("HBBI", *step) for step in _NO_SYN)
    memory = ctypes.create_string_buffer(program)
    filters = struct.pack("HP", len(_NO_SYN), ctypes.addressof(memory))
    # A sandbox may forbid it: then it is as elsewhere.
    with contextlib.suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, filters)


def take_connections(listening: socket.socket) -> list[socket.socket]:
    """Connections that the system has made and the loop has not seen: closing would reset them."""
    accepted = []
    with contextlib.suppress(OSError):
        listening.setblocking(False)
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            accepted.append(connection)
    return accepted


def _no_address(host: str) -> str:
    return (
        f"{host!r} is no address of this machine.\nUse 127.0.0.1, or 0.0.0.0 for all that it has."
    )


def _taken(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EACCES:
        return (
            f"Port {port} on {host} is not allowed to this user.\n"
            "Choose another one above 1023, such as --port 8787."
        )
    return (
        f"Port {port} on {host} is in use by another process.\n"
        "End that one, or choose another port, such as --port 0 (any that is free)."
    )
