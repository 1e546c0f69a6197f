"""Serves one agent of a bridge to an editor: its methods, its sessions, and the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

from agui_bridge import __version__
from agui_bridge.acp.peer import INVALID_PARAMS, INVALID_REQUEST, Peer, Result, RpcError
from agui_bridge.acp.session import Client, Session
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.records import Json, Principal
from agui_bridge.stdio.lines import Ending, LineReader, LineWriter, Pipes
from agui_bridge.surfaces.reading import check_text_id

PROTOCOL_VERSION: Final = 1
"""Of the Agent Client Protocol."""


class AcpBridge(Protocol):
    """The bridge, as this transport sees it."""

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    async def open(self) -> Engine:
        """The engine, with its store open."""
        ...

    async def aclose(self) -> None:
        """Stop what still runs, flush it, and close the store."""
        ...


async def serve_acp(bridge: AcpBridge, agent: Agent, pipes: Pipes, principal: Principal) -> None:
    """Serve until the end of the input, SIGTERM or SIGINT; a second signal stops by force.

    Args:
        bridge: the bridge; it is closed at the end.
        agent: the agent of it that is served.
        pipes: where messages come from and go to.
        principal: for whom the client acts.

    Raises:
        StoreUnavailable: the store can't be reached.
        SchemaMismatch: the database is newer or older than this version.
    """
    try:
        engine = await bridge.open()
        await _Server(bridge.settings, engine, agent, pipes, principal).run()
    finally:
        await bridge.aclose()


class _Server:
    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        agent: Agent,
        pipes: Pipes,
        principal: Principal,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._agent = agent
        self._writer = LineWriter(pipes.stdout, settings.stall_timeout)
        reader = LineReader(pipes.stdin, settings.max_body_bytes)
        self._peer = Peer(reader, self._writer, settings.max_values)
        self._client = Client(self._peer, principal, forms=False)
        self._initialized = False
        self._sessions: dict[str, Session] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._end = Ending()

    # --- its life ---

    async def run(self) -> None:
        """Serve to the end."""
        methods = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": lambda params: self._load(params, replay=True),
            "session/resume": lambda params: self._load(params, replay=False),
            "session/prompt": self._prompt,
        }
        serving = self._peer.serve(methods, {"session/cancel": self._cancel})
        await self._end.wait_for(serving, self._writer.gone.wait(), then=self._wind_down)

    async def _wind_down(self) -> None:
        """Stop what runs; what waits for people goes on waiting, for the next process."""
        grace = self._settings.shutdown_grace
        under_way = [one.running for one in self._sessions.values() if one.running is not None]
        leaving = [asyncio.ensure_future(run.leave(grace, self._end.forced)) for run in under_way]
        await asyncio.gather(*leaving, return_exceptions=True)
        for session in self._sessions.values():
            session.end()
        if tasks := {*self._peer.tasks, *self._beside}:
            await asyncio.wait(tasks, timeout=grace + 2 * self._settings.cancel_grace)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    # --- methods ---

    async def _initialize(self, params: Mapping[str, Json]) -> Result:
        version: Any = params.get("protocolVersion")
        if not isinstance(version, int) or isinstance(version, bool):
            raise RpcError(INVALID_PARAMS, "protocolVersion: must be a number.")
        offered: Any = params.get("clientCapabilities")
        elicits = offered.get("elicitation") if isinstance(offered, dict) else None
        forms = isinstance(elicits, dict) and elicits.get("form") is not None
        self._client = Client(self._peer, self._client.principal, forms)
        self._initialized = True
        return Result(
            {
                "protocolVersion": PROTOCOL_VERSION,
                "agentCapabilities": {
                    "loadSession": True,
                    "promptCapabilities": {
                        "image": False,
                        "audio": False,
                        "embeddedContext": True,
                    },
                    "mcpCapabilities": {"http": False, "sse": False},
                    "sessionCapabilities": {"resume": {}},
                },
                "agentInfo": {
                    "name": "agui-bridge",
                    "title": self._agent.name,
                    "version": __version__,
                },
                "authMethods": [],
            }
        )

    async def _new(self, params: Mapping[str, Json]) -> Result:
        session = mint()
        self._sessions[session] = self._session(session, params)
        return Result({"sessionId": session})

    async def _load(self, params: Mapping[str, Json], *, replay: bool) -> Result:
        name = self._named(params)
        before = self._sessions.get(name)
        if before is not None and before.is_busy:
            raise RpcError(INVALID_REQUEST, "A turn of this session is going on: cancel it first.")
        session = self._session(name, params)
        await session.load(replay=replay)
        if before is not None:
            before.end()
        self._sessions[name] = session
        return Result({}, lambda: self._spawn(session.go_on()))

    def _prompt(self, params: Mapping[str, Json]) -> Coroutine[Any, Any, Result]:
        # What follows a prompt in the next line, such as its cancellation, finds it begun.
        refused: RpcError | None = None
        session = None
        try:
            session, text = self._known(params), text_of(params.get("prompt"))
            session.begin()
        except RpcError as error:
            refused = error

        async def carried_out() -> Result:
            if refused is not None or session is None:
                raise refused or AssertionError
            return Result(await session.prompt(text))

        return carried_out()

    def _cancel(self, params: Mapping[str, Json]) -> None:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is not None and session.cancel():
            self._spawn(self._withdraw(session))

    async def _withdraw(self, session: Session) -> None:
        try:
            await session.withdraw()
        except StoreError:
            # It is still asked, and the next prompt says so.
            return

    # --- sessions ---

    def _session(self, thread: str, params: Mapping[str, Json]) -> Session:
        if not self._initialized:
            raise RpcError(INVALID_REQUEST, "The client must be initialized first.")
        folder = params.get("cwd")
        if not isinstance(folder, str):
            raise RpcError(INVALID_PARAMS, "cwd: must be a path.")
        return Session(self._engine, self._agent, self._client, thread, folder)

    def _named(self, params: Mapping[str, Json]) -> str:
        name = params.get("sessionId")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "sessionId: must be a string.")
        check_text_id("sessionId", name, self._settings.max_id_bytes)
        return name

    def _known(self, params: Mapping[str, Json]) -> Session:
        name = params.get("sessionId")
        session = self._sessions.get(name) if isinstance(name, str) else None
        if session is None:
            raise RpcError(INVALID_PARAMS, "sessionId: there is no such session: load it first.")
        return session


def text_of(blocks: Json) -> str:
    """The text of a prompt.

    A link stands as its name and address, and an embedded text within tags that name its address.

    Args:
        blocks: the prompt's content blocks, of type `text`, `resource_link` or `resource`.

    Raises:
        RpcError: it is no list of such blocks.
    """
    if not isinstance(blocks, list) or not blocks:
        raise RpcError(INVALID_PARAMS, "prompt: must be a list of content blocks.")
    return "".join(_block(f"prompt.{index}", block) for index, block in enumerate(blocks))


def _block(field: str, block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            return f"[{name}]({uri})"
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return f"\n<resource uri={uri!r}>\n{text}\n</resource>\n"
    kind = block.get("type") if isinstance(block, Mapping) else None
    raise RpcError(
        INVALID_PARAMS,
        f"{field}: must be a text, a link or an embedded text; {str(kind)[:50]!r} is not taken.",
    )
