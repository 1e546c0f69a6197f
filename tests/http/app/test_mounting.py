"""The bridge in an app of somebody else's, as FastAPI users mount it."""

import contextlib
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from agui_bridge import Bridge, Settings
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Answering
from tests.support.server import client, post, run_input, serve


class WatchedStore(MemoryStore):
    """Says whether it was closed."""

    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


def made() -> tuple[Bridge, Answering, WatchedStore]:
    store, agent = WatchedStore(), Answering()
    bridge = Bridge(store, settings=Settings(shutdown_grace=0.1))
    bridge.add("agent", agent)
    return bridge, agent, store


def host(bridge: Bridge, prefix: str, *, lifespan: bool, log: list[str] | None = None) -> FastAPI:
    """An app with a route and a lifespan of its own."""

    @contextlib.asynccontextmanager
    async def composed(app: FastAPI) -> AsyncIterator[None]:
        if log is not None:
            log.append("host up")
        async with bridge.lifespan(app):
            yield
        if log is not None:
            log.append("host down")

    app = FastAPI(lifespan=composed if lifespan else None)

    @app.get("/agents/custom/hello")
    async def hello() -> dict[str, str]:
        return {"hello": "host"}

    app.mount(prefix, bridge.app(anonymous=True))
    return app


async def check(base: str, prefix: str) -> None:
    """A pause, its answer, and the neighbours."""
    asked = await post(base, prefix=prefix, **run_input("go"))
    [interrupt] = asked.events[-1]["outcome"]["interrupts"]
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    done = await post(base, prefix=prefix, **run_input(None, resume=[entry]))
    assert done.events[-1]["outcome"] == {"type": "success"}
    async with client(base) as http:
        assert (await http.get("/agents/custom/hello")).json() == {"hello": "host"}
        assert (await http.get(f"{prefix}/agents")).status_code == 200
        missing = await http.get(f"{prefix}/agents/agent/threads/nothing")
        assert missing.json()["error"]["code"] == "THREAD_NOT_FOUND"
        assert (await http.get(f"{prefix}/nowhere")).status_code == 404


@pytest.mark.parametrize("prefix", ["/ai", "/deep/er", ""])
@pytest.mark.parametrize("lifespan", [True, False], ids=["composed", "without lifespan"])
async def test_a_mounted_bridge_works_beside_the_hosts_routes(prefix: str, lifespan: bool) -> None:
    bridge, agent, store = made()
    async with serve(host(bridge, prefix, lifespan=lifespan)) as base:
        await check(base, prefix)
    assert (store.closed, agent.closed) == ((1, 1) if lifespan else (0, 0))
    await bridge.aclose()
    assert (store.closed, agent.closed) == (1, 1)


async def test_without_any_lifespan_the_first_request_opens_the_bridge() -> None:
    bridge, _, store = made()
    async with serve(host(bridge, "/ai", lifespan=False), lifespan="off") as base:
        await check(base, "/ai")
    await bridge.aclose()
    assert store.closed == 1


async def test_the_hosts_lifespan_wraps_the_bridges() -> None:
    bridge, _, store = made()
    log: list[str] = []
    async with serve(host(bridge, "/ai", lifespan=True, log=log)) as base:
        assert log == ["host up"]
        await check(base, "/ai")
    assert log == ["host up", "host down"] and store.closed == 1


async def test_its_routes_can_be_merged_into_the_hosts_router() -> None:
    bridge, _, _ = made()
    app = FastAPI(lifespan=bridge.lifespan)

    @app.get("/agents/custom/hello")
    async def hello() -> dict[str, str]:
        return {"hello": "host"}

    app.router.routes.extend(bridge.routes(anonymous=True))
    async with serve(app) as base:
        await check(base, "")
        async with client(base) as http:
            documented = (await http.get("/openapi.json")).json()["paths"]
            assert list(documented) == ["/agents/custom/hello"]
            wrong = await http.put("/agents/agent")
            assert wrong.json()["error"]["code"] == "METHOD_NOT_ALLOWED"


async def test_the_app_by_itself_opens_and_closes_everything_once() -> None:
    bridge, agent, store = made()
    async with serve(bridge.app(anonymous=True)) as base:
        await post(base, **run_input("go"))
    assert (store.closed, agent.closed) == (1, 1)


async def test_pages_of_allowed_origins_may_call_and_others_may_not() -> None:
    bridge = Bridge(
        cors_origins=["https://app.example"],
        cors_origin_regex=r"http://localhost:\d+",
        settings=Settings(shutdown_grace=0.1),
    )
    bridge.add("agent", Answering())
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        for origin, allowed in (
            ("https://app.example", True),
            ("http://localhost:3000", True),
            ("https://evil.example", False),
        ):
            headers = {
                "origin": origin,
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type",
            }
            response = await http.options("/agents/agent", headers=headers)
            assert (response.headers.get("access-control-allow-origin") == origin) is allowed
