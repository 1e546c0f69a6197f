"""One conversation in an agent's process: begun or loaded, put into its mode, and prompted.

Source: the Agent Client Protocol, version 1, "Initialization", "Session Setup", "Session Modes".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge import __version__
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_acp.connection import Connection, Gone, RpcError, Transport

logger: Final = logging.getLogger("agui_bridge")

_VERSION: Final = 1
_CLIENT: Final[Mapping[str, Json]] = {
    # Of the files and terminals of the client's machine none are offered: the agent has its own.
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    "elicitation": {"form": {}},
}
_ASKING: Final = "default"
"""The mode of agents that have several in which people are asked."""


class CannotBeLoaded(Exception):
    """The agent does not know a session any more, or loads none."""


class Session:
    """A session.

    Args:
        connection: to its agent.
        told: what the agent said of itself when it was greeted.
        cwd: the folder that it works in.
        timeout: seconds that beginning it, or loading it, may take.

    Attributes:
        cwd: the same.
        id: its id, of the agent's.
        turn: names the last turn that the agent has of the conversation; another process may have
            had a later one.
        mode: the mode that it is in; None where the agent has none.
    """

    def __init__(
        self, connection: Connection, told: Mapping[str, Any], cwd: str, timeout: float
    ) -> None:
        self.connection = connection
        self._told = told
        self.cwd = cwd
        self._timeout = timeout
        self.id: str = ""
        self.turn: str = ""
        self.mode: str | None = None

    @classmethod
    async def greet(cls, transport: Transport, *, cwd: str, timeout: float) -> Session:
        """Greet an agent that was started.

        Raises:
            NotDelivered: it does not answer, or speaks another version.
        """
        connection = Connection(transport)
        params: dict[str, Json] = {
            "protocolVersion": _VERSION,
            "clientCapabilities": dict(_CLIENT),
            "clientInfo": {"name": "agui-bridge", "version": __version__},
        }
        try:
            told = await connection.request("initialize", params, timeout)
            if not isinstance(told, dict) or told.get("protocolVersion") != _VERSION:
                raise NotDelivered("The agent speaks another version of its protocol.")
        except (Gone, RpcError) as error:
            connection.strike()
            raise NotDelivered("The agent was started, and does not answer.") from error
        except BaseException:
            connection.strike()
            raise
        return cls(connection, told, cwd, timeout)

    @property
    def takes_images(self) -> bool:
        """Whether it can look at pictures."""
        return _mapping(self._capabilities.get("promptCapabilities")).get("image") is True

    @property
    def _capabilities(self) -> Mapping[str, Any]:
        return _mapping(self._told.get("agentCapabilities"))

    async def begin(self, mode: str | None) -> None:
        """Begin a new session.

        Args:
            mode: the mode to put it into; None takes `default`, where the agent has modes.

        Raises:
            NotDelivered: the agent begins none, or is in a mode that nobody chose.
        """
        try:
            told = await self._request("session/new", {"cwd": self.cwd, "mcpServers": []})
            self.id = str(told["sessionId"])
            await self._choose(told, mode)
        except (Gone, RpcError, KeyError) as error:
            raise NotDelivered("The agent begins no session: is it signed in?") from error

    async def load(self, session: str, mode: str | None) -> None:
        """Take a session up that another process began.

        Args:
            session: its id.
            mode: as for `begin`; a session that is loaded is in none that it was in before.

        Raises:
            CannotBeLoaded: the agent has it no more, or can't.
            Gone: the agent has ended, or takes too long.
            NotDelivered: it has not the mode.
        """
        if self._capabilities.get("loadSession") is not True:
            raise CannotBeLoaded("the agent loads no sessions")
        params: dict[str, Json] = {"sessionId": session, "cwd": self.cwd, "mcpServers": []}
        try:
            told = await self._request("session/load", params)
        except RpcError as error:
            raise CannotBeLoaded(str(error)) from error
        self.id = session
        try:
            await self._choose(told, mode)
        except RpcError as error:
            raise NotDelivered("The agent can't be put into its mode.") from error

    async def prompt(self, content: Sequence[Json]) -> asyncio.Future[Any]:
        """Begin a turn, and give what its end will be.

        Raises:
            Gone: the agent has ended.
        """
        self.connection.listen(on=True)
        return await self.connection.begin(
            "session/prompt", {"sessionId": self.id, "prompt": list(content)}
        )

    async def cancel(self) -> None:
        """Have the turn ended.

        Raises:
            Gone: the agent has ended.
        """
        await self.connection.notify("session/cancel", {"sessionId": self.id})

    async def _request(self, method: str, params: Mapping[str, Json]) -> dict[str, Any]:
        told = await self.connection.request(method, params, self._timeout)
        return told if isinstance(told, dict) else {}

    async def _choose(self, told: Mapping[str, Any], mode: str | None) -> None:
        """Put the session into its mode: some agents begin in one that asks nobody.

        Raises:
            NotDelivered: the agent has no such mode, or has modes and none was chosen.
        """
        modes = _mapping(told.get("modes"))
        available = [str(_mapping(one).get("id")) for one in modes.get("availableModes") or ()]
        wanted = mode if mode is not None else _ASKING if available else None
        if wanted is None:
            return
        if wanted not in available:
            logger.error("the agent has no mode %r; it has: %s", wanted, ", ".join(available))
            known = f"set `mode` to one of {', '.join(available)}, in which it asks before it acts"
            known = known if available else "it has none, so leave `mode` out"
            raise NotDelivered(f"The agent has no mode {wanted!r}: {known}.")
        await self._request("session/set_mode", {"sessionId": self.id, "modeId": wanted})
        self.mode = wanted


def check_mode(session: Session, told: str | None) -> None:
    """See that an agent is still in the mode that was chosen.

    Args:
        session: its session.
        told: the mode that it says it has changed to.

    Raises:
        UpstreamError: it is in another one, in which it may ask nobody.
    """
    if told is not None and session.mode is not None and told != session.mode:
        raise UpstreamError(f"The agent has left the mode {session.mode!r}, and was ended.")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
