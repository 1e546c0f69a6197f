"""The load client: raw sockets, and no more parsing than finding the end of a response.

An HTTP library would cost more than the servers that are measured.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import selectors
import socket
import time
from collections.abc import Generator, Iterable, Iterator, Sequence

from benchmarks.rows import BenchmarkBroken

Conversation = Generator[bytes, bytes, None]
"""Yields requests, and is sent the raw response of each."""

_END = b"\r\n0\r\n\r\n"
_PATIENCE = 60.0
_PIECE = 256 * 1024


def connect(port: int) -> socket.socket:
    """A connection without Nagle's algorithm."""
    connection = socket.create_connection(("127.0.0.1", port), _PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class _Response:
    """A chunked response while it comes in."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._tail = b""

    def take(self, connection: socket.socket) -> bool:
        """Receive once; says whether the response is complete."""
        piece = connection.recv(_PIECE)
        if not self.pieces and not piece.startswith(b"HTTP/1.1 200"):
            raise BenchmarkBroken(f"a request was refused: {piece[:2_000]!r}")
        if not piece:
            raise BenchmarkBroken(f"a stream broke off: … {self._tail!r}")
        self.pieces.append(piece)
        self._tail = (self._tail + piece)[-len(_END) :]
        return self._tail == _END

    @property
    def raw(self) -> bytes:
        """All of it, its head and the frames of its chunks included."""
        return b"".join(self.pieces)


class _Client:
    """One conversation after the other, each request on the next of its connections."""

    def __init__(
        self, connections: Sequence[socket.socket], waiting: Iterator[Conversation]
    ) -> None:
        self._connections = itertools.cycle(connections)
        self._waiting = waiting
        self._conversation: Conversation | None = None
        self.response = _Response()

    def send(self, selector: selectors.BaseSelector, raw: bytes = b"") -> None:
        """Answer a response with the next request, of the next conversation where one is over."""
        request = self._request(raw)
        if request is not None:
            self.response = _Response()
            connection = next(self._connections)
            selector.register(connection, selectors.EVENT_READ, self)
            connection.sendall(request)

    def _request(self, raw: bytes) -> bytes | None:
        if self._conversation is not None:
            with contextlib.suppress(StopIteration):
                return self._conversation.send(raw)
        self._conversation = next(self._waiting, None)
        return None if self._conversation is None else next(self._conversation)


def drive(
    ports: int | Sequence[int], conversations: Iterable[Conversation], clients: int = 1
) -> float:
    """Hold conversations on keep-alive connections, as many at once as there are clients.

    Args:
        ports: of the server; of several, each request of a client goes to the next one.
        conversations: what is held.
        clients: how many at once.

    Returns:
        The seconds from the first request to the end of the last response.

    Raises:
        BenchmarkBroken: a response is no complete stream, or a conversation found it wrong.
    """
    each = [ports] if isinstance(ports, int) else list(ports)
    waiting = iter(conversations)
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
        all_clients = []
        for number in range(clients):
            # Not all begin at the same server.
            turned = each[number % len(each) :] + each[: number % len(each)]
            connections = [stack.enter_context(connect(port)) for port in turned]
            all_clients.append(_Client(connections, waiting))
        began = time.perf_counter()
        for client in all_clients:
            client.send(selector)
        while selector.get_map():
            ready = selector.select(_PATIENCE)
            if not ready:
                raise BenchmarkBroken("a stream does not end")
            for key, _ in ready:
                client, connection = key.data, _socket(key)
                if client.response.take(connection):
                    selector.unregister(connection)
                    client.send(selector, client.response.raw)
        return time.perf_counter() - began


def _socket(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def first_event(connection: socket.socket, request: bytes, mark: bytes = b"data: ") -> float:
    """The seconds from a request to the first event of its stream, which is read to its end.

    Args:
        connection: an open one.
        request: its bytes.
        mark: what the event has in it; by default every event.
    """
    response = _Response()
    began = time.perf_counter()
    connection.sendall(request)
    complete, taken = False, 0.0
    while not complete:
        complete = response.take(connection)
        if not taken and mark in response.raw:
            taken = time.perf_counter() - began
    return taken


def open_stream(port: int, request: bytes, until: bytes) -> socket.socket:
    """Begin a stream and read until it has said `until`; it stays open."""
    connection = connect(port)
    connection.sendall(request)
    response = _Response()
    while until not in response.raw:
        if response.take(connection):
            raise BenchmarkBroken(f"a stream ended without {until!r}")
    return connection


_CHUNK = re.compile(rb"([0-9a-fA-F]+)\r\n")


def lines(raw: bytes) -> list[bytes]:
    """The `data:` lines of a response, without the frames of its chunks."""
    position = raw.index(b"\r\n\r\n") + 4
    parts = []
    while (size := _CHUNK.match(raw, position)) and int(size[1], 16):
        end = size.end() + int(size[1], 16)
        parts.append(raw[size.end() : end])
        position = end + 2
    return [line for line in b"".join(parts).split(b"\n") if line.startswith(b"data: ")]
