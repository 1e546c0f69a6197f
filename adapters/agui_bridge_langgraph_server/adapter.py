"""The adapter: runs of a graph on a LangGraph server, whose interrupts become questions.

What that server does with two answers at once, or with a text where a boolean was asked for, does
not matter any more: it gets each answer once, checked, and after the bridge's claim.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any, Final

import httpx
from langgraph.pregel.remote import RemoteGraph

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.beginning import FromRun, function_from, made_for
from agui_bridge_langgraph_server.server import Place, Server
from agui_bridge_langgraph_server.turn import Options, Turn

_THREADS: Final = uuid.UUID("c9d8a0a6-41f5-5d0c-9f0b-6a5b4a3f7f10")
"""Names the space of the conversations' ids, which a LangGraph server wants as UUIDs."""

_USUAL: Final = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


class LangGraphServerAdapter:
    """Runs a graph on a LangGraph server (`langgraph dev`, Agent Server); interrupts are questions.

    The server keeps the conversation, one for each scope, agent and thread.

    Args:
        url: of the server, such as `http://127.0.0.1:2024`; or LangGraph's `RemoteGraph`, whose
            server, credentials, assistant and configuration are taken.
        assistant: the assistant's id, or the name of a graph; `agent` by default.
        api_key: sent as `x-api-key`.
        headers: sent with every request, such as an Authorization; or a function from the `Run` to
            them, where the server knows its users.
        config: more of LangGraph's `RunnableConfig`, or a function from the `Run` to it.
        graph_context: the graph's context (its `context_schema`), or a function from the `Run`.
        input: what the graph begins with, as a function from the `Run`; by default the new messages
            and the shared state, as far as the graph's input has them.
        state: names of the state that clients see; by default all of the graph's output but
            messages and the structured response.
        cancelled: what an interrupt of your own returns that nobody answered.
        tools: JSON Schemas of tools' arguments, by the tool's name: edited arguments must fit. The
            server does not tell them.
        predict_state: which arguments of calls show in the page's state while they stream.
        forwarded_props: names of what clients forward that the graph begins with, where its input
            has them; True for all: only where whoever calls is trusted with the graph's input.
        timeout: seconds that the server may be silent.
        patience: seconds for which a run is waited for that is under way there, as after a death of
            the bridge.

    Functions may be sync or async, or `module:attribute`.

    Raises:
        ConfigurationError: an option makes no sense.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, own_history=True
    )

    def __init__(
        self,
        url: str | RemoteGraph,
        assistant: str | None = None,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | FromRun | str | None = None,
        config: Mapping[str, Any] | FromRun | str | None = None,
        graph_context: Mapping[str, Any] | FromRun | str | None = None,
        input: FromRun | str | None = None,
        state: Collection[str] | None = None,
        cancelled: Json = None,
        tools: Mapping[str, Mapping[str, Json]] | None = None,
        predict_state: Sequence[PredictState] = (),
        forwarded_props: bool | Collection[str] = False,
        timeout: float = 120.0,
        patience: float = 30.0,
    ) -> None:
        key = {} if api_key is None else {"x-api-key": api_key}
        if isinstance(url, RemoteGraph):
            assistant = assistant or url.assistant_id
            config = url.config if config is None else config
            url, own = _client_of(url)
            key = {**own, **key}
        if not _is_address(url):
            raise ConfigurationError(
                f"url should be an address such as http://127.0.0.1:2024, not {url!r}."
            )
        self._headers = _given("headers", headers)
        self._config = _given("config", config)
        self._graph_context = _given("graph_context", graph_context)
        self._input = function_from("input", input)
        self._state = state
        self._cancelled = cancelled
        self._tools = dict(tools or {})
        self._predictions = tuple(predict_state)
        self._forwarded = Forwarded(forwarded_props)
        self._patience = patience
        self._server = Server(url, assistant or "agent", headers=key, timeout=timeout)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no graph has seen the input.
            ThreadGone: the server does not know the conversation any more.
            UpstreamError: the graph does not wait for these answers, or failed; or the server did.
            OutcomeUnknown: the same, once the graph may have taken the answers.
        """
        headers = {**(await made_for(run, self._headers) or {}), **run.trace_headers}
        place = Place(thread_of(run.principal.scope, run.agent, run.thread_id), headers)
        options = Options(
            input=await made_for(run, self._input),
            context=await made_for(run, self._graph_context),
            config=await made_for(run, self._config) or {},
            shared=self._state,
            cancelled=self._cancelled,
            predictions=self._predictions,
            forwarded=self._forwarded,
            tools=self._tools,
            patience=self._patience,
        )
        names = await self._server.names(headers)
        turn = Turn(run, self._server, place, names, options)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()


def _client_of(remote: RemoteGraph) -> tuple[str, dict[str, str]]:
    """The address that a remote graph's client has, and the headers that are its own."""
    if remote.client is None:
        raise ConfigurationError("The RemoteGraph has no client: give it its server's url.")
    client = remote.client.http.client
    own = {name: text for name, text in client.headers.items() if name not in _USUAL}
    return str(client.base_url), own


def _given(name: str, found: Any) -> Any:
    """An option that is a value or a function from the run, as a function."""
    return (lambda run: found) if isinstance(found, Mapping) else function_from(name, found)


def thread_of(scope: str, agent: str, thread_id: str) -> str:
    """The id of a conversation at the server: the same in every process."""
    return str(uuid.uuid5(_THREADS, json.dumps([scope, agent, thread_id])))


def _is_address(url: str) -> bool:
    with contextlib.suppress(httpx.InvalidURL):
        address = httpx.URL(url)
        return address.scheme in ("http", "https") and bool(address.host)
    return False
