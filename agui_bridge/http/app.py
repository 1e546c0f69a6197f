"""The bridge itself: agents, a store, an engine, and the app that serves them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, overload

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from agui_bridge.adapters import Adapter
from agui_bridge.agents.function import AgentFunction, FunctionAdapter
from agui_bridge.engine.call import Agent, Call
from agui_bridge.engine.runner import Engine, mint
from agui_bridge.engine.settings import Settings
from agui_bridge.engine.stopping import StopResult
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.http.routes import build_routes
from agui_bridge.http.service import Authenticate, check_json, error_response
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.records import Json, Principal, ThreadKey
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store

__all__ = ["Bridge"]

T = TypeVar("T")
F = TypeVar("F", bound=AgentFunction)

_NAME: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._~-]+")


class Bridge:
    """Puts agents behind AG-UI.

    ::

        bridge = Bridge("sqlite:///agents.db")

        @bridge.agent("ops")
        async def ops(run):
            answer = await run.approve("delete_rows", {"table": "users"})
            if answer.approved:
                await run.tool(answer, delete_rows)

        app = bridge.app()

    Args:
        store: a store URL (`memory:`, `sqlite:///path`), or a store.
        settings: defaults of every agent.
        authenticate: says who asks; without it everybody shares one scope.
        cors_origins: origins whose pages may call, such as `https://app.example`.
        cors_origin_regex: the same as a pattern of the whole origin.
    """

    def __init__(
        self,
        store: str | Store = "memory:",
        *,
        settings: Settings | None = None,
        authenticate: Authenticate | None = None,
        cors_origins: Sequence[str] = (),
        cors_origin_regex: str | None = None,
    ) -> None:
        self.agents: dict[str, Agent] = {}
        self.settings = settings or Settings()
        self.authenticate = authenticate
        self._store = store
        self._cors_origins = tuple(cors_origins)
        self._cors_origin_regex = cors_origin_regex
        self._engine: Engine | None = None
        self._drained: asyncio.Task[None] | None = None
        self._closing = False
        self._opening = asyncio.Lock()

    # --- agents ---

    @overload
    def agent(self, name: F, /) -> F: ...

    @overload
    def agent(
        self, name: str | None = None, *, description: str = "", **settings: Any
    ) -> Callable[[F], F]: ...

    def agent(
        self, name: F | str | None = None, *, description: str = "", **settings: Any
    ) -> F | Callable[[F], F]:
        """Register a function as an agent (decorator, with parentheses or without).

        Args:
            name: its name in addresses; by default the function's.
            description: for people; by default the function's docstring.
            **settings: fields of `Settings` that differ for this agent, of those that may.
        """
        if callable(name):
            return self.agent(description=description, **settings)(name)

        def register(function: F) -> F:
            summary = description or (function.__doc__ or "").strip().partition("\n")[0]
            self.add(
                name or function.__name__,
                FunctionAdapter(function),
                description=summary,
                **settings,
            )
            return function

        return register

    def add(self, name: str, adapter: Adapter, *, description: str = "", **settings: Any) -> None:
        """Register an adapter as an agent.

        Raises:
            ConfigurationError: the name is taken or unfit for an address, the adapter is none,
                or a setting is unknown, unfit, or the whole bridge's.
        """
        if not _NAME.fullmatch(str(name)):
            raise ConfigurationError(
                f"{name!r} can't be an agent's name: it is part of a path, so it has only "
                "letters, digits and ._~- ([A-Za-z0-9._~-]+), and not only dots."
            )
        if name in self.agents:
            raise ConfigurationError(f"There is an agent {name!r} already.")
        lacks = [part for part in ("run", "aclose", "capabilities") if not hasattr(adapter, part)]
        if isinstance(adapter, type) or lacks:
            what = f"the class {adapter.__name__}" if isinstance(adapter, type) else repr(adapter)
            why = f"it lacks {', '.join(lacks)}" if lacks else "make an instance of it"
            raise ConfigurationError(f"Agent {name!r}: {what:.200} is no Adapter: {why}.")
        own = self.settings.of_agent(name, settings)
        self.agents[name] = Agent(name, adapter, own, description)

    # --- life ---

    async def open(self) -> Engine:
        """Open the store and start the engine, once; gives the engine.

        Raises:
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer or older than this version.
        """
        if self._engine is not None:
            return self._engine
        async with self._opening:
            if self._engine is None:
                store = (
                    await open_store(self._store) if isinstance(self._store, str) else self._store
                )
                engine = Engine(store, self.settings)
                engine.start()
                self._engine = engine
        return self._engine

    async def check_store(self) -> None:
        """Open the store and close it again, to learn early what is wrong with its address.

        Raises:
            ConfigurationError: the address is of no store.
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer or older than this version.
        """
        if isinstance(self._store, str):
            await (await open_store(self._store)).aclose()

    async def drain(self) -> None:
        """Take no new runs, and let running runs finish, or stop and flush them.

        Their streams end with their last event. What is stored can be read until `aclose`.
        """
        if self._engine is None:
            return
        if self._drained is None:
            self._drained = asyncio.ensure_future(self._engine.aclose())
        await self._drained

    async def aclose(self) -> None:
        """Drain, and close adapters and the store."""
        engine = self._engine
        if engine is None or self._closing:
            return
        self._closing = True
        try:
            # Until it is closed it stays the engine: a request that comes now is refused.
            await self.drain()
            for agent in self.agents.values():
                await agent.adapter.aclose()
        finally:
            self._engine = self._drained = None
            self._closing = False
            await engine.store.aclose()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """A lifespan for Starlette or FastAPI; nest it in the host's own if it has one."""
        await self.open()
        try:
            yield
        finally:
            await self.aclose()

    def app(self) -> Starlette:
        """The bridge as an ASGI app, to serve or to mount."""
        middleware = []
        if self._cors_origins or self._cors_origin_regex:
            middleware.append(
                Middleware(
                    CORSMiddleware,
                    allow_origins=self._cors_origins,
                    allow_origin_regex=self._cors_origin_regex,
                    allow_methods=["GET", "POST", "DELETE"],
                    allow_headers=["*"],
                )
            )
        app = Starlette(
            routes=self.routes(),
            lifespan=self.lifespan,
            middleware=middleware,
            exception_handlers={404: _no_such_path},
        )
        # A redirect would repeat the Host header, which anybody can choose.
        app.router.redirect_slashes = False
        return app

    def routes(self) -> list[BaseRoute]:
        """The bridge's routes, to add to an app of your own."""
        return build_routes(self)

    # --- without a client ---

    async def stop(
        self,
        agent: str,
        thread: str,
        *,
        force: bool = False,
        timeout: float = 30.0,
        principal: Principal | None = None,
    ) -> StopResult:
        """Stop what a thread does and wait until it is over; loses nothing.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            force: cancel at once instead of letting a running tool finish.
            timeout: seconds that a graceful stop may take.
            principal: whose thread; the default principal by default.
        """
        who = principal or Principal()
        engine = await self.open()
        key = ThreadKey(who.scope, self._agent(agent).name, thread)
        return await engine.stop(key, force=force, timeout=timeout, actor=who.actor)

    async def resume(
        self,
        agent: str,
        thread: str,
        answers: Mapping[str, Json],
        *,
        cancel: Sequence[str] = (),
        principal: Principal | None = None,
    ) -> WireEvent:
        """Answer a thread's interrupts, from a webhook or another page, and see the run through.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            answers: payload by interrupt id.
            cancel: ids of interrupts to cancel.
            principal: who answers.

        Returns:
            The run's last event: RUN_FINISHED, or RUN_ERROR when it failed or was refused.

        Raises:
            Refused: no interrupt is named, or a payload is no JSON (INVALID_INPUT); there is no
                such agent (AGENT_NOT_FOUND).
            StoreUnavailable: the store did not answer.
        """
        if not answers and not cancel:
            raise Refused("INVALID_INPUT", "answers: name at least one interrupt, or cancel one.")
        for interrupt, payload in answers.items():
            check_json({interrupt: payload}, "answers")
        entries = [
            {"interruptId": i, "status": "resolved", "payload": payload}
            for i, payload in answers.items()
        ]
        entries += [{"interruptId": i, "status": "cancelled"} for i in cancel]
        parsed = parse_input(
            {
                "threadId": thread,
                "runId": mint(),
                "protocolVersion": "1.0",
                "messages": [],
                "resume": entries,
            }
        )
        engine = await self.open()
        call = Call(self._agent(agent), principal or Principal(), parsed, on_disconnect="continue")
        pipe, stream = engine.submit(call)
        try:
            while await pipe.read():
                pass
        finally:
            pipe.detach()
        assert stream.terminal is not None, "every stream ends with a terminal event"
        return stream.terminal

    def stop_sync(self, agent: str, thread: str, **options: Any) -> StopResult:
        """`stop`, for scripts without an event loop; the store must be shared (no memory)."""
        return self._in_a_loop(lambda bridge: bridge.stop(agent, thread, **options))

    def resume_sync(
        self, agent: str, thread: str, answers: Mapping[str, Json], **options: Any
    ) -> WireEvent:
        """`resume`, for scripts without an event loop; the store must be shared (no memory)."""
        return self._in_a_loop(lambda bridge: bridge.resume(agent, thread, answers, **options))

    def _in_a_loop(self, work: Callable[[Bridge], Coroutine[Any, Any, T]]) -> T:
        if not isinstance(self._store, str) or self._store.startswith("memory:"):
            raise ConfigurationError(
                "The synchronous calls open the store anew: give the bridge a URL of a shared "
                "store, such as sqlite:///agents.db."
            )

        async def with_own_store() -> T:
            twin = Bridge(self._store, settings=replace(self.settings, sweep_interval=0))
            twin.agents = self.agents
            engine = await twin.open()
            try:
                return await work(twin)
            finally:
                # The adapters are this bridge's; only what was opened here is closed.
                await engine.aclose()
                await engine.store.aclose()

        return asyncio.run(with_own_store())

    def _agent(self, name: str) -> Agent:
        if name not in self.agents:
            raise Refused("AGENT_NOT_FOUND", f"There is no agent {name!r}.")
        return self.agents[name]


def _no_such_path(request: Request, _: Exception) -> Response:
    path = request.url.path[:100]
    return error_response(Refused("NOT_FOUND", f"There is no path {path!r} here."))
