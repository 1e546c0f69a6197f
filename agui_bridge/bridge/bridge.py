"""The bridge itself: agents, a store, an engine, and the app that serves them."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from agui_bridge import __version__
from agui_bridge.bridge.without_client import WithoutClient
from agui_bridge.channels.channel import Channel, ScopedChannels
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.fairness import HeavyTurns, ScopeQueue
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.presence import Presence, kind_of
from agui_bridge.engine.telemetry import NO_TELEMETRY, Telemetry
from agui_bridge.errors import ConfigurationError
from agui_bridge.event_loops import PerLoop
from agui_bridge.http.app.routes import TAKEN, build_app, build_routes, routes_of_its_own
from agui_bridge.http.auth import scopes_given_by
from agui_bridge.http.copilotkit.operations import BASE, check_base
from agui_bridge.http.endpoint import LOOPBACK_HOSTS, HostGuard, cors_middleware, guard_of
from agui_bridge.http.service import Authenticate
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import inspect_store, open_store
from agui_bridge.stores.opening import Preparation, advised_before, open_patiently

if TYPE_CHECKING:  # Imported once there is something to tell.
    from agui_bridge.channels.dispatcher import Dispatcher


T = TypeVar("T")

_HEAVY_INPUTS: Final = 2
"""At most two per scope: one in work, one in the store. Parsed, an input may take many times the
memory of its text, all of which the garbage collector goes through."""


class Bridge(WithoutClient):
    """Puts agents behind AG-UI.

    ::

        bridge = Bridge("sqlite:///agents.db")


        @bridge.agent("ops")
        async def ops(run):
            answer = await run.approve("delete_rows", {"table": "users"})
            if answer.approved:
                await run.tool(answer, delete_rows)


        app = bridge.app(anonymous=True)

    Args:
        store: a store URL (`memory:`, `sqlite:///path`, `postgresql://…`, `redis://…`), or a store.
        settings: defaults of every agent.
        authenticate: identifies the caller, such as `BearerTokens`. Without it all share one scope,
            and `Host` and `Origin` of every request are checked.
        allowed_hosts: the hosts that requests may name, without a port; `.example.com` are the
            subdomains of example.com, `*` is any. With `authenticate` hosts and origins are checked
            only if you name others than these: do so if it reads cookies.
        cors_origins: origins whose pages may call, such as `https://app.example`; `*` is any. Pages
            of other sites change nothing, whatever `authenticate` says.
        cors_origin_regex: the same as a pattern of the whole origin.
        copilotkit: where the routes of CopilotKit's runtime stand, for its `runtimeUrl`; None if
            there are to be none.
        playground: whether `/playground` is a page to try the agents on (extra `playground`).
        mcp: whether the agents are tools of MCP clients at `/mcp` (extra `mcp`).
        a2a: whether other agents reach the agents at `/a2a/{agent}`, over the Agent2Agent protocol.
        first_page: whether `/` of its app is a page with the agents and how to talk to them; by
            default where there is no `authenticate`, since everybody may read it.
        audit_keys: secrets, newest first, that seal the history of questions: docs/audit.md.
        inbox: how people reach their questions: addresses, and the keys of references and links.
            With it `/inbox` is a page of what waits for people (extra `inbox`).
        channels: where people are told of questions, by name: `Webhook`, `Slack`, `Smtp`, `Teams`.
        telemetry: `auto` tells OpenTelemetry what is done if its API is installed, True fails if
            it is not, False tells nobody; or an `agui_bridge.otel.OpenTelemetry`.

    Raises:
        ConfigurationError: a host or an origin can never match, CopilotKit's routes can't
            stand at their path, an audit key is too short, or nobody knows whose questions a
            channel is told of.
    """

    @checked_arguments("Bridge", secret=("audit_keys",))
    def __init__(
        self,
        store: str | Store = "memory:",
        *,
        settings: Settings | None = None,
        authenticate: Authenticate | None = None,
        allowed_hosts: Sequence[str] = LOOPBACK_HOSTS,
        cors_origins: Sequence[str] = (),
        cors_origin_regex: str | None = None,
        copilotkit: str | None = BASE,
        playground: bool = False,
        mcp: bool = False,
        a2a: bool = False,
        first_page: bool | None = None,
        audit_keys: Sequence[str] | None = None,
        inbox: Inbox | None = None,
        channels: Mapping[str, Channel] | None = None,
        telemetry: TelemetryChoice = "auto",
    ) -> None:
        self.inbox: Inbox = inbox or Inbox()
        self.inbox_page: bool = inbox is not None
        super().__init__(settings or Settings(), self.inbox.references)
        self.channels: ScopedChannels = ScopedChannels(
            channels or {}, scopes_given_by(authenticate)
        )
        self._dispatcher: Dispatcher | None = None
        self._presence: Presence | None = None
        self._is_server = True
        self.authenticate = authenticate
        self._store = store
        # Also made here to refuse at once what can't match.
        HostGuard(allowed_hosts, cors_origins, cors_origin_regex)
        self.allowed_hosts: tuple[str, ...] = tuple(allowed_hosts)
        self.cors_origins: tuple[str, ...] = tuple(cors_origins)
        self.cors_origin_regex = cors_origin_regex
        check_base(copilotkit, TAKEN)
        self.copilotkit = copilotkit
        self.playground = playground
        self.mcp = mcp
        self.a2a = a2a
        self.first_page = first_page
        self.turns: HeavyTurns = HeavyTurns()
        self.bodies: ScopeQueue = ScopeQueue(self.settings.max_bytes_per_scope)
        self.heavy_inputs: ScopeQueue = ScopeQueue(_HEAVY_INPUTS)
        self._engine: Engine | None = None
        self._loop: PerLoop[asyncio.AbstractEventLoop] = PerLoop(
            asyncio.get_running_loop, self._loop_ends
        )
        self._opened_in: asyncio.AbstractEventLoop | None = None
        self._drained: asyncio.Task[None] | None = None
        self._closing = False
        self._advised = False
        self._opening: PerLoop[asyncio.Lock] = PerLoop(asyncio.Lock)
        self._twins: set[Bridge] = set()
        self.audit_keys: AuditKeys | None = AuditKeys(audit_keys) if audit_keys else None
        self._telemetry = telemetry
        if telemetry != "auto":
            _ = self.telemetry

    # --- life ---

    @cached_property
    def telemetry(self) -> Telemetry:
        """Who is told what the bridge does."""
        return choose_telemetry(self._telemetry)

    @property
    def store(self) -> str | Store:
        """The store's URL, or the store itself; can be replaced until it is opened."""
        return self._store

    @store.setter
    @checked_arguments("bridge.store")
    def store(self, store: str | Store) -> None:
        if self._engine is not None:
            raise ConfigurationError("The bridge's store is open: replace it before.")
        self._store = store

    async def open(self) -> Engine:
        """Open the store and start the engine, once; gives the engine.

        In another event loop, when the one before has ended, it is opened anew.

        Raises:
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer or older than this version.
        """
        if self._engine is not None and not self._is_left():
            return self._engine
        async with self._opening.get():
            if self._is_left():
                await self._let_go()
            if self._engine is None:
                store = await self._opened()
                store.audit.keys = self.audit_keys or store.audit.keys
                engine = Engine(
                    store,
                    self.settings,
                    telemetry=self.telemetry,
                    on_run_end=self.run_end_hooks,
                    turns=self.turns,
                    agents=self.agents,
                )
                # Whichever request opens the bridge: the work beside is no part of its trace.
                contextvars.Context().run(engine.start)
                self._dispatcher = contextvars.Context().run(self._dispatch, engine)
                self._presence = contextvars.Context().run(self._note, engine)
                self._engine, self._opened_in = engine, self._loop.get()
        return self._engine

    def _is_left(self) -> bool:
        """Whether it is open in an event loop that has ended, or stands still."""
        loop = self._opened_in
        if self._engine is None or loop is None:
            return False
        return loop is not asyncio.get_running_loop() and not loop.is_running()

    async def _let_go(self) -> None:
        """Leave what belongs to an event loop that has ended: it can't be closed properly."""
        engine, self._engine = self._engine, None
        dispatcher, self._dispatcher = self._dispatcher, None
        self._drained, self._closing = None, False
        self.turns = HeavyTurns()
        self.bodies = ScopeQueue(self.settings.max_bytes_per_scope)
        self.heavy_inputs = ScopeQueue(_HEAVY_INPUTS)
        if dispatcher is not None:
            dispatcher.leave()
        if self._presence is not None:
            self._presence.leave()
        if engine is not None:
            engine.leave()
            if isinstance(self._store, str):
                await engine.store.aclose()

    async def _loop_ends(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close it in its own event loop, which ends; a store that was given stays open."""
        if self._engine is not None and self._opened_in is loop:
            await self._close(store=isinstance(self._store, str))

    def _dispatch(self, engine: Engine) -> Dispatcher | None:
        """Begin to tell people; with `sweep_interval=0` other processes do.

        Rules may have a question escalated where nobody is told of it.
        """
        interval = self.settings.sweep_interval
        if not interval or not (self.channels or self._approvals is not None):
            return None
        # Imported here: most bridges have no channels.
        from agui_bridge.channels.dispatcher import Dispatcher

        dispatcher = Dispatcher(
            engine.store,
            self.channels,
            self.inbox,
            telemetry=self.telemetry,
            clock=engine.clock,
            interval=interval,
            mint=mint,
            duties=engine.duties,
        )
        engine.watchers.append(dispatcher.hint)
        dispatcher.start()
        return dispatcher

    def _note(self, engine: Engine) -> Presence | None:
        """Begin to note this server in the store; the synchronous calls are none."""
        if not self._is_server:
            return None
        presence = Presence(
            engine.store,
            engine.clock,
            mint(),
            self.channels,
            duties=engine.duties,
            kind=self._kind,
        )
        presence.start()
        return presence

    def _kind(self) -> str:
        """What stands for the servers that sweep and tell people as this one does."""
        interval = self.settings.sweep_interval
        if not interval:
            return ""
        return kind_of([__version__, str(interval)], self.agents, self.channels)

    async def older_servers(self) -> tuple[str, ...]:
        """What is to be told of older versions that work on the store, in sentences."""
        return () if self._presence is None else await self._presence.known()

    async def check_store(self) -> None:
        """Open the store and close it again, to learn early what is wrong with its address.

        Raises:
            ConfigurationError: the address is of no store.
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer or older than this version.
        """
        if isinstance(self._store, str):
            await (await self._opened()).aclose()
            self._advised = True

    async def inspect_store(self) -> Preparation | None:
        """Say which schema the store has, and which one it gets when it is opened.

        Nothing is changed: no table is made or migrated, and no store either.

        Returns:
            None for `memory:`, and for a store that was made in code.

        Raises:
            ConfigurationError: the address is of no store.
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer than this version.
        """
        store = self._store
        if not isinstance(store, str):
            return None
        return await open_patiently(lambda: inspect_store(store), self.settings.store_retry)

    async def _opened(self) -> Store:
        store = self._store
        if not isinstance(store, str):
            return store
        with advised_before() if self._advised else contextlib.nullcontext():
            return await open_patiently(lambda: open_store(store), self.settings.store_retry)

    async def drain(self) -> None:
        """Take no new runs, and let running runs finish, or stop and flush them.

        Their streams end with their last event. What is stored can be read until `aclose`.
        `agui_bridge.http.server.serve` calls it on a signal. A host with a uvicorn of its own
        should call it then too: uvicorn closes the lifespan only once every stream has ended.
        """
        if self._engine is None:
            return
        if self._drained is None:
            self._drained = asyncio.ensure_future(self._engine.aclose())
        await self._drained

    async def aclose(self) -> None:
        """Drain, and close adapters and the store."""
        if self._is_left():
            store = self._store
            await self._let_go()
            if not isinstance(store, str):
                await store.aclose()
        await self._close(store=True)
        await self._loop.aclose()

    async def _close(self, *, store: bool) -> None:
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
            if self._dispatcher is not None:
                await self._dispatcher.aclose()
            if self._presence is not None:
                await self._presence.aclose()
            self._closing = False
            if store:
                await engine.store.aclose()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """A lifespan for Starlette or FastAPI; nest it in the host's own if it has one.

        Servers end it after the last connection: to end open streams before, call `drain` as
        soon as the shutdown begins.

        Raises:
            StoreUnavailable: the store can't be reached.
            SchemaMismatch: the database is newer or older than this version.
        """
        await self.open()
        try:
            yield
        finally:
            await self.aclose()

    @checked_arguments("bridge.app")
    def app(self, *, anonymous: bool = False) -> Starlette:
        """The bridge as an ASGI app, to serve or to mount.

        Args:
            anonymous: without `authenticate`, everybody who reaches the app is the same principal;
                has no effect with it.

        Raises:
            ConfigurationError: neither `authenticate` nor `anonymous` was given, or the playground
                is not installed.
        """
        guard = guard_of(self, anonymous=anonymous)
        return build_app(
            [*build_routes(self, guard), *routes_of_its_own(self, guard)],
            self.lifespan,
            cors_middleware(self.cors_origins, self.cors_origin_regex),
        )

    @checked_arguments("bridge.routes")
    def routes(self, *, anonymous: bool = False) -> list[BaseRoute]:
        """The bridge's routes, to add to an app of your own.

        They answer no CORS preflight: that is middleware, which the host's own app must have.

        Args:
            anonymous: as for `app`.

        Raises:
            ConfigurationError: neither `authenticate` nor `anonymous` was given.
        """
        return build_routes(self, guard_of(self, anonymous=anonymous))

    def _in_a_loop(self, work: Callable[[WithoutClient], Coroutine[Any, Any, T]]) -> T:
        if not isinstance(self._store, str) or self._store.startswith("memory:"):
            raise ConfigurationError(
                "The synchronous calls open the store anew: give the bridge a URL of a shared "
                "store, such as sqlite:///agents.db."
            )

        async def with_own_store() -> T:
            own = replace(self.settings, sweep_interval=0)
            twin = Bridge(self._store, settings=own, inbox=self.inbox, telemetry=self.telemetry)
            twin._is_server = False
            twin.audit_keys = self.audit_keys
            twin.agents, twin.run_end_hooks = self.agents, self.run_end_hooks
            await twin.open()
            self._twins.add(twin)
            try:
                return await work(twin)
            finally:
                self._twins.discard(twin)
                if self._engine is not None or self._twins:
                    twin.agents = {}  # Their adapters are in use elsewhere.
                await twin.aclose()

        return asyncio.run(with_own_store())


TelemetryChoice = bool | str | Telemetry
""""auto", True, False, or who observes."""


def choose_telemetry(choice: TelemetryChoice) -> Telemetry:
    """Who observes: OpenTelemetry where its API is installed, nobody, or who was given.

    Raises:
        ConfigurationError: OpenTelemetry is asked for and not installed, or the choice is none.
    """
    if choice is False:
        return NO_TELEMETRY
    if choice is not True and choice != "auto":
        if isinstance(choice, str) or not hasattr(choice, "observe"):
            raise ConfigurationError(
                f"telemetry can't be {choice!r:.100}: it is 'auto', True, False, or an "
                "agui_bridge.otel.OpenTelemetry."
            )
        return choice
    try:
        # Only here: whoever does without it need not wait for its import.
        from agui_bridge.otel import OpenTelemetry
    except ImportError as error:
        if choice is True:
            raise ConfigurationError(
                f"telemetry=True needs OpenTelemetry's API ({error.name or error} is missing). "
                'Install it: pip install "agui-bridge[otel]"'
            ) from error
        return NO_TELEMETRY
    return OpenTelemetry()
