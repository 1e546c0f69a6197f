"""Redis for tests: the one that runs already, or a process of the tests' own."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import redis

from tests.support import unavailable
from tests.support.ports import free_port

__all__ = ["RedisServer", "cluster_url", "redis_url"]

PORT = 6379
SLOTS = 16384
START_SECONDS = 20.0
STAMP = f"agui-test-{os.getpid()}-{time.monotonic_ns():x}"
"""Begins the prefix of every store of this run, which are deleted at its end."""


def redis_url(directory: Path) -> str:
    """The address of a store that belongs to a directory: another one for each."""
    return f"redis://127.0.0.1:{_port()}/0?prefix={_prefix(directory)}"


def cluster_url(directory: Path) -> str:
    """The same on a cluster of three servers."""
    return f"redis+cluster://127.0.0.1:{_cluster()}?shards=6&prefix={_prefix(directory)}"


def _prefix(directory: Path) -> str:
    digest = hashlib.sha256(str(directory).encode()).hexdigest()[:12]
    return f"{STAMP}-{digest}"


@cache
def _port() -> int:
    port = PORT
    if not _answers(PORT):
        server = RedisServer()
        atexit.register(server.close)
        server.start()
        port = server.port
    atexit.register(_delete_all, port)
    return port


@cache
def _cluster() -> int:
    """Start three masters that share the slots; gives the port of one."""
    servers = []
    for _ in range(3):
        server = RedisServer(None, "--cluster-enabled", "yes")
        atexit.register(server.close)
        server.start()
        servers.append(server)
    clients: list[Any] = [server.client() for server in servers]
    for number, client in enumerate(clients):
        slots = range(SLOTS * number // 3, SLOTS * (number + 1) // 3)
        client.execute_command("CLUSTER ADDSLOTS", *slots)
        client.execute_command("CLUSTER MEET", "127.0.0.1", servers[0].port)
    deadline = time.monotonic() + START_SECONDS
    for client in clients:
        while not _is_whole(client.execute_command("CLUSTER INFO")):
            assert time.monotonic() < deadline, "the cluster does not come together"
            time.sleep(0.02)
        client.close()
    return servers[0].port


def _is_whole(info: dict[str, str]) -> bool:
    return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "3"


def _answers(port: int) -> bool:
    with redis.Redis(port=port, socket_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _delete_all(port: int) -> None:
    with redis.Redis(port=port) as client:
        for name in client.scan_iter(f"{STAMP}-*", count=1000):
            client.unlink(name)


class RedisServer:
    """A process of `redis-server`, by default one that keeps nothing.

    Args:
        directory: where it keeps its append-only file, written with every command.
        options: more of the command line.
    """

    def __init__(self, directory: Path | None = None, *options: str) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            unavailable("redis-server", "install Redis 6 or later, or start it on 127.0.0.1:6379")
        self.port = free_port()
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        # A replica saves what it copies, and every server reads what lies there.
        self._folder = tempfile.mkdtemp(prefix="agui-redis-")
        if directory is None:
            self._command += ["--dir", self._folder, "--appendonly", "no"]
        else:
            self._command += ["--dir", str(directory), "--appendonly", "yes"]
            self._command += ["--appendfsync", "always"]
        self._command += options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the store on it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(self.port):
            assert self._process.poll() is None, f"ended at once: {' '.join(self._command)}"
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.02)

    def client(self) -> redis.Redis:
        """A plain connection to it."""
        return redis.Redis(port=self.port, decode_responses=True)

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)

    def freeze(self) -> None:
        """Stop it where it is (SIGSTOP)."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it, however it is."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
