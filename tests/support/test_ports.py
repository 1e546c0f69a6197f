"""Ports for servers: two workers never get the same one, nor anybody one that is taken."""

import itertools
import socket

import pytest

from tests.support import ports


def test_no_port_is_given_to_two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    given: list[list[int]] = []
    for worker in ("gw0", "gw1", "gw2"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        given.append(ports._own())
    alone = range(ports.FIRST, ports.BEYOND)

    assert sorted(itertools.chain(*given)) == list(alone)


def test_a_port_that_somebody_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    free = ports.free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "_PORTS", iter([taken, free]))

        assert ports.free_port() == free
