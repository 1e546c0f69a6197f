"""Without credentials, only requests for an allowed host from an allowed origin come through."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.datastructures import Headers
from starlette.requests import Request

from agui_bridge import Bridge, Principal, Refused, Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.endpoint import HostGuard, is_loopback
from agui_bridge.http.server import serve as serve_bridge
from tests.support.agents import Answering
from tests.support.server import PATIENCE, client, run_input, serve

BOUND = "127.0.0.1:8787"


def refusal(guard: HostGuard, *headers: tuple[str, str]) -> str | None:
    """What the guard says to a request with these headers; None when it passes."""
    try:
        guard.check(Headers(raw=[(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]))
    except Refused as error:
        assert error.code == "FORBIDDEN" and error.status == 403
        return error.message
    return None


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", BOUND, "[::1]", "[::1]:80",
     "[0:0:0:0:0:0:0:1]:8787"],
)  # fmt: skip
def test_the_machine_itself_may_be_named_in_every_spelling(host: str) -> None:
    assert refusal(HostGuard(), ("host", host)) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8787", "localhost.evil.example", "evil-localhost", "", ":80",
     "127.0.0.2", "0.0.0.0", "::1", "[::2]", "localhost:x", "localhost@evil.example",
     "evil.example/localhost", "localhost, evil.example", "l\xd0\xbecalhost",
     "127.1", "2130706433", "[::ffff:127.0.0.1]", "localhost\x00"],
)  # fmt: skip
def test_another_host_is_refused_with_the_setting_that_would_allow_it(host: str) -> None:
    said = refusal(HostGuard(), ("host", host))
    assert said is not None and "allowed_hosts" in said


def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    for hosts in (HostGuard(), HostGuard(["*"])):
        assert "not 0" in (refusal(hosts) or "")
        said = refusal(hosts, ("host", "localhost"), ("host", "localhost"))
        assert "not 2" in (said or "")


@pytest.mark.parametrize("allowed", [".example.com", "*.example.com", "*.EXAMPLE.com"])
def test_a_wildcard_is_every_subdomain_and_not_the_domain(allowed: str) -> None:
    guard = HostGuard([allowed])
    assert refusal(guard, ("host", "a.example.com:8080")) is None
    assert refusal(guard, ("host", "b.a.example.com")) is None
    for host in ("example.com", "evilexample.com", "a.example.com.evil.example", "localhost"):
        assert refusal(guard, ("host", host)) is not None


def test_a_star_allows_every_host() -> None:
    assert refusal(HostGuard(["*"]), ("host", "anything.example:1")) is None


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        (BOUND, "http://127.0.0.1:8787", True),
        ("localhost", "http://localhost", True),
        ("localhost", "http://localhost:80", True),
        ("localhost:80", "http://LOCALHOST", True),
        ("localhost", "https://localhost", True),
        ("[::1]:8787", "http://[::1]:8787", True),
        (BOUND, "https://app.example", True),
        (BOUND, "http://localhost:3000", True),
        (BOUND, "http://127.0.0.1:3000", False),
        (BOUND, "http://127.0.0.1", False),
        (BOUND, "https://evil.example", False),
        (BOUND, "https://app.example.evil.example", False),
        (BOUND, "http://app.example", False),
        (BOUND, "null", False),
        (BOUND, "", False),
        (BOUND, "file://", False),
        (BOUND, "chrome-extension://127.0.0.1:8787", False),
    ],
)
def test_an_origin_is_the_hosts_own_or_an_allowed_one(host: str, origin: str, passes: bool) -> None:
    guard = HostGuard(origins=["https://app.example"], origin_regex=r"http://localhost:\d+")
    said = refusal(guard, ("host", host), ("origin", origin))
    assert (said is None) is passes
    assert passes or "cors_origins" in (said or "")


def test_null_and_two_origins_are_refused_whatever_the_pattern() -> None:
    guard = HostGuard(origin_regex=".*")
    assert refusal(guard, ("host", BOUND), ("origin", "null")) is not None
    twice = [("origin", "http://a.example"), ("origin", "http://127.0.0.1:8787")]
    assert refusal(guard, ("host", BOUND), *twice) is not None
    assert refusal(HostGuard(origins=["*"]), ("host", BOUND), ("origin", "null")) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"allowed_hosts": "localhost"},
        {"allowed_hosts": ["localhost:80"]},
        {"allowed_hosts": ["http://localhost"]},
        {"allowed_hosts": ["*example.com"]},
        {"allowed_hosts": ["a.*.com"]},
        {"allowed_hosts": [""]},
        {"allowed_hosts": [5]},
        {"cors_origins": "https://app.example"},
        {"cors_origins": ["https://app.example/"]},
        {"cors_origins": ["https://App.example"]},
        {"cors_origins": ["app.example"]},
        {"cors_origins": ["null"]},
        {"cors_origin_regex": "("},
    ],
    ids=str,
)
def test_what_can_never_match_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Bridge(**wrong)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("", False), ("10.0.0.1", False), ("a.example", False)],
)  # fmt: skip
def test_loopback_addresses_are_told_from_others(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


# --- over HTTP ---------------------------------------------------------------------------------


def made(**options: Any) -> Bridge:
    bridge = Bridge(settings=Settings(shutdown_grace=0.1), **options)
    bridge.add("agent", Answering())
    return bridge


def somebody(request: Request) -> Principal:
    return Principal("team", "ann")


EVERY_ROUTE = [
    ("GET", "/agents"),
    ("POST", "/agents/agent"),
    ("POST", "/agents/agent/callbacks/x"),
    ("GET", "/agents/agent/capabilities"),
    ("GET", "/agents/agent/threads"),
    ("GET", "/agents/agent/threads/t"),
    ("DELETE", "/agents/agent/threads/t"),
    ("GET", "/agents/agent/threads/t/interrupts"),
    ("POST", "/agents/agent/threads/t/stop"),
    ("POST", "/agents/agent/threads/t/connect"),
    ("GET", "/agents/agent/threads/t/connect"),
    ("GET", "/interrupts"),
    ("GET", "/interrupts/q"),
    ("POST", "/interrupts/q/answer"),
    ("GET", "/deliveries"),
    ("POST", "/stop"),
    ("GET", "/api/v1/agents"),
    ("POST", "/api/v1/chat/stream"),
    ("GET", "/api/v1/chat/interrupt_state"),
    ("POST", "/api/v1/chat/resume"),
    ("GET", "/copilotkit/info"),
    ("POST", "/copilotkit"),
    ("POST", "/copilotkit/agent/agent/run"),
    ("POST", "/copilotkit/agent/agent/connect"),
    ("POST", "/copilotkit/agent/agent/stop/t"),
]


async def test_every_route_but_the_probes_checks_host_and_origin() -> None:
    bridge = made()
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        for method, path in EVERY_ROUTE:
            body = run_input("hi") if path == "/agents/agent" else None
            for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
                response = await http.request(method, path, json=body, headers=headers)
                assert response.status_code == 403, (method, path)
                assert response.json()["error"]["code"] == "FORBIDDEN"
        paths = {getattr(route, "path_format", "") for route in bridge.routes(anonymous=True)}
        tried = {path.replace("threads/t", "threads/{thread}") for _, path in EVERY_ROUTE}
        tried = {path.replace("/agents/agent", "/agents/{agent}") for path in tried}
        tried = {path.replace("/callbacks/x", "/callbacks/{token}") for path in tried}
        tried = {path.replace("/agent/agent", "/agent/{agent}") for path in tried}
        tried = {path.replace("/stop/t", "/stop/{thread}") for path in tried}
        tried = {path.replace("/interrupts/q", "/interrupts/{ref}") for path in tried}
        assert paths - tried == {"/healthz", "/readyz"}
        for path in ("/healthz", "/readyz"):
            response = await http.get(path, headers={"host": "10.1.2.3:8787"})
            assert response.status_code == 200
        assert (await http.get("/interrupts")).json()["interrupts"] == []


async def test_a_simple_request_from_a_foreign_page_starts_and_stops_nothing() -> None:
    bridge = made()
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        simple = {"origin": "https://evil.example", "content-type": "text/plain"}
        for path in ("/agents/agent", "/agents/agent/threads/t/stop"):
            assert (await http.post(path, headers=simple)).status_code == 403
        assert (await http.get("/agents/agent/threads")).json() == {"threads": []}


@pytest.mark.parametrize("target", ["http://evil.example/agents", "http://localhost/agents"])
async def test_an_absolute_target_does_not_replace_the_host_header(target: str) -> None:
    async with serve(made().app(anonymous=True)) as base:
        port = int(base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for host, statuses in (("evil.example", {403, 404}), ("localhost", {200, 404})):
            writer.write(f"GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split()[0]))
            assert int(head.split()[1]) in statuses
        writer.close()


async def test_with_authentication_hosts_are_checked_only_when_they_are_named() -> None:
    for hosts, status in (({}, 200), ({"allowed_hosts": ["agents.example", "127.0.0.1"]}, 403)):
        bridge = made(authenticate=somebody, **hosts)
        async with serve(bridge.app()) as base, client(base) as http:
            for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
                response = await http.get("/agents", headers=headers)
                assert response.status_code == status
            assert (await http.get("/agents")).status_code == 200


def test_an_app_that_nobody_guards_is_refused_unless_it_is_meant() -> None:
    for make in (made().app, made().routes):
        with pytest.raises(ConfigurationError, match=r"authenticate=.*anonymous=True"):
            make()
        make(anonymous=True)
    made(authenticate=somebody).app()
    made(authenticate=somebody).routes()


async def test_anonymous_does_not_switch_authentication_off() -> None:
    def nobody(request: Request) -> Principal:
        raise Refused("UNAUTHENTICATED", "Send credentials.")

    app = made(authenticate=nobody).app(anonymous=True)
    async with serve(app) as base, client(base) as http:
        assert (await http.get("/agents")).status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "agents.example"])
def test_an_open_address_is_refused_before_anything_is_bound(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"authenticate=.*127.0.0.1.*anonymous=True"):
        serve_bridge(made(), host, 0)
    with pytest.raises(ConfigurationError, match="others than this machine"):
        serve_bridge(made(), fd=3)


@contextlib.asynccontextmanager
async def captured(monkeypatch: pytest.MonkeyPatch, bridge: Bridge, *args: Any, **options: Any
                   ) -> AsyncIterator[httpx.AsyncClient]:  # fmt: skip
    """A client of the app that `serve` would have bound to an address."""
    configs: list[uvicorn.Config] = []

    class Captured:
        started = True

        def __init__(self, config: uvicorn.Config, *_: object) -> None:
            configs.append(config)

        def run(self, sockets: list[socket.socket]) -> None:
            pass

    # This machine need not have the address, and the port may be taken.
    monkeypatch.setattr("agui_bridge.http.server.listen", lambda host, port: [])
    monkeypatch.setattr("agui_bridge.http.server._Server", Captured)
    await asyncio.to_thread(serve_bridge, bridge, *args, log_config=None, **options)
    app: Any = configs[0].app
    async with serve(app) as base, client(base) as http:
        yield http


@pytest.mark.parametrize(
    ("address", "anonymous", "named", "status"),
    [
        ("127.0.0.1", False, "localhost:8787", 200),
        ("127.0.0.5", False, "127.0.0.5:8787", 200),
        ("127.0.0.1", False, "10.0.0.1:8787", 403),
        ("10.0.0.1", True, "10.0.0.1:8787", 200),
        ("10.0.0.1", True, "localhost:8787", 200),
        ("10.0.0.1", True, "evil.example", 403),
        ("fe80::1", True, "[fe80::1]:8787", 200),
        ("0.0.0.0", True, "localhost:8787", 200),
        ("0.0.0.0", True, "0.0.0.0:8787", 403),
        ("0.0.0.0", True, "10.0.0.1:8787", 403),
        ("::", True, "[::]:8787", 403),
    ],
)
async def test_a_server_answers_to_the_address_that_it_is_bound_to(
    monkeypatch: pytest.MonkeyPatch, address: str, anonymous: bool, named: str, status: int
) -> None:
    serving = captured(monkeypatch, made(), address, 8787, anonymous=anonymous)
    async with serving as http:
        response = await http.get("/agents", headers={"host": named})
        assert response.status_code == status
        assert status == 200 or "allowed_hosts" in response.json()["error"]["message"]


async def test_with_authentication_any_address_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    async with captured(monkeypatch, made(authenticate=somebody), "0.0.0.0") as http:
        assert (await http.get("/agents", headers={"host": "any.example"})).status_code == 200
