"""An editor: the official Python client of the protocol, on a real process of `agui-bridge acp`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from acp import schema, spawn_agent_process
from acp.connection import StreamDirection
from pydantic import TypeAdapter

__all__ = [
    "PATIENCE",
    "ROOT",
    "Asked",
    "Editor",
    "Start",
    "allowed",
    "capabilities",
    "command_of",
    "started",
    "within",
]

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 40.0
"""Seconds until something that ought to happen counts as missing."""

Json = dict[str, Any]


def allowed(option: str) -> Json:
    """The result of a permission request that chooses an option."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


def command_of(agent: str, *more: str) -> list[str]:
    """The command line that an editor starts."""
    return [sys.executable, "-m", "agui_bridge", "acp", "agents:bridge", "--agent", agent, *more]


@dataclass
class Asked:
    """A request of the agent's that waits for the editor's user.

    Attributes:
        kind: `permission` or `form`.
        params: of the request, as JSON.
        answer: to be set to the result.
        withdrawn: set once the agent takes it back.
    """

    kind: str
    params: Json
    answer: asyncio.Future[Json] = field(default_factory=asyncio.Future)
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def words(self) -> str:
        """All text of it that its user reads."""
        if self.kind == "form":
            return str(self.params["message"])
        call = self.params["toolCall"]
        return "\n".join(block["content"]["text"] for block in call["content"])


class Editor(ABC):
    """A client of the protocol, and what a user of it sees and does.

    Attributes:
        updates: what was told, oldest first.
        asked: requests as they come.
        offered: what the agent said of itself.
    """

    def __init__(self) -> None:
        self.updates: list[Json] = []
        self.asked: asyncio.Queue[Asked] = asyncio.Queue()
        self.offered: Json = {}

    # --- what its user does ---

    @abstractmethod
    async def request(self, method: str, params: Json) -> Json:
        """The result of a request to the agent."""
        ...

    @abstractmethod
    async def cancel(self, session: str) -> None:
        """Cancel the turn."""
        ...

    @abstractmethod
    async def kill(self) -> None:
        """Kill the agent's process as `kill -9` does."""
        ...

    async def new(self) -> str:
        """A new session."""
        made = await self.request("session/new", {"cwd": str(ROOT), "mcpServers": []})
        return str(made["sessionId"])

    async def load(self, session: str, method: str = "session/load") -> None:
        """Load a session."""
        await self.request(method, {"sessionId": session, "cwd": str(ROOT), "mcpServers": []})

    def prompt(self, session: str, text: str) -> asyncio.Task[Json]:
        """Say something; gives the end of the turn."""
        prompt = [{"type": "text", "text": text}]
        turn = self.request("session/prompt", {"sessionId": session, "prompt": prompt})
        return asyncio.ensure_future(turn)

    async def next(self) -> Asked:
        """The next request of the agent's."""
        return await asyncio.wait_for(self.asked.get(), PATIENCE)

    async def answer(self, option: str) -> Asked:
        """Choose an option of the next request."""
        asked = await self.next()
        asked.answer.set_result(allowed(option))
        return asked

    # --- what its user sees ---

    def said(self, kind: str = "agent_message_chunk") -> str:
        """All text of a kind."""
        chunks = (u for u in self.updates if u["sessionUpdate"] == kind)
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def calls(self) -> dict[str, Json]:
        """Each tool call, as all updates leave it."""
        found: dict[str, Json] = {}
        for update in self.updates:
            if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
                call = found.setdefault(update["toolCallId"], {})
                call.update({name: value for name, value in update.items() if value is not None})
        return found


class PythonEditor(Editor):
    """The official Python client: what it calls, and what it is called with."""

    def __init__(self) -> None:
        super().__init__()
        self.agent: Any = None
        self.process: Any = None
        self._numbers: list[Any] = []
        self._came: list[Asked] = []

    async def request(self, method: str, params: Json) -> Json:
        """The result of a request, whose params the library reads and writes itself."""
        kind: Any
        kind, call = {
            "session/new": (schema.NewSessionRequest, self.agent.new_session),
            "session/load": (schema.LoadSessionRequest, self.agent.load_session),
            "session/resume": (schema.ResumeSessionRequest, self.agent.resume_session),
            "session/prompt": (schema.PromptRequest, self.agent.prompt),
        }[method]
        read: Any = kind.model_validate(params)
        given = {name: getattr(read, name) for name in read.model_fields_set}
        result = await call(**given)
        told: Json = result.model_dump(by_alias=True, exclude_none=True, mode="json")
        return told

    async def cancel(self, session: str) -> None:
        """Cancel the turn."""
        await self.agent.cancel(session_id=session)

    async def kill(self) -> None:
        """Kill the agent's process as `kill -9` does."""
        self.process.kill()
        await self.process.wait()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Take what is told."""
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True, mode="json"))

    async def request_permission(self, options: Any, tool_call: Any, **_: Any) -> Any:
        """Ask the user for a permission."""
        params = {
            "options": [one.model_dump(by_alias=True, mode="json") for one in options],
            "toolCall": tool_call.model_dump(by_alias=True, exclude_none=True, mode="json"),
        }
        result = await self._ask(Asked("permission", params))
        return schema.RequestPermissionResponse.model_validate(result)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        """Show the user a form."""
        told = mode.model_dump(by_alias=True, exclude_none=True, mode="json")
        result = await self._ask(Asked("form", {"message": message, **told}))
        return TypeAdapter(schema.CreateElicitationResponse).validate_python(result)

    def observe(self, event: Any) -> None:
        """See a message: the library itself heeds no request that is taken back."""
        message = event.message
        if event.direction != StreamDirection.INCOMING or "method" not in message:
            return
        if "id" in message:
            self._numbers.append(message["id"])
        elif message["method"] == "$/cancel_request":
            self._came[self._numbers.index(message["params"]["requestId"])].withdrawn.set()

    async def _ask(self, asked: Asked) -> Json:
        self._came.append(asked)
        self.asked.put_nowait(asked)
        return await asked.answer


Start = Callable[..., AbstractAsyncContextManager[Editor]]
"""Starts an agent in an editor: see `started`."""


@contextlib.asynccontextmanager
async def started(
    folder: Path, agent: str, *more: str, forms: bool = False
) -> AsyncIterator[Editor]:
    """An editor that has started the agent, and is initialized.

    Args:
        folder: where the agents' module lies.
        agent: its name.
        more: options besides.
        forms: whether the editor takes forms.
    """
    editor = PythonEditor()
    command, *arguments = command_of(agent, *more)
    with (folder / "stderr").open("ab") as log:
        try:
            async with spawn_agent_process(
                editor,  # type: ignore[arg-type]  # it has what the agent calls, and nothing else
                command,
                *arguments,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                cwd=folder,
                transport_kwargs={"stderr": log, "limit": 2**24},
                observers=[editor.observe],
                use_unstable_protocol=True,
            ) as (connection, process):
                editor.agent, editor.process = connection, process
                known = await connection.initialize(
                    protocol_version=1,
                    client_capabilities=schema.ClientCapabilities.model_validate(
                        capabilities(forms)
                    ),
                )
                editor.offered = known.model_dump(by_alias=True, exclude_none=True, mode="json")
                yield editor
        except ProcessLookupError:
            # The SDK terminates its agent, which may have ended at that very moment.
            await within(editor.process.wait())


def capabilities(forms: bool) -> Json:
    """What an editor says that it can do."""
    return {"elicitation": {"form": {}}} if forms else {}


async def within(work: Awaitable[Any]) -> Any:
    """The result of some work that comes in time."""
    return await asyncio.wait_for(work, PATIENCE)
