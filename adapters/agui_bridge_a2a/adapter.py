"""The adapter: messages begin tasks, tasks that ask become pauses, answers go on with the task.

What an A2A server does with two answers at once does not matter any more: it gets each answer once,
after the bridge's claim.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, get_args

import httpx

from agui_bridge.a2a.wire import ASKS, Part, as_object, as_text
from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import (
    AdapterError,
    AgentRefused,
    ConfigurationError,
    NotDelivered,
    OutcomeUnknown,
    UpstreamError,
)
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge_a2a.card import Binding, Interface, interface_of
from agui_bridge_a2a.continuation import Continuation, Told
from agui_bridge_a2a.exchange import Exchange
from agui_bridge_a2a.http_client import HttpClient, Refused, TaskGone
from agui_bridge_a2a.pauses import parts_of, pause_of
from agui_bridge_a2a.reader import Reader
from agui_bridge_a2a.requests import message_params, new_parts, said_parts
from agui_bridge_a2a.signatures import Signers

_CARD_SECONDS: Final = 300.0
"""For how long a card counts without a new look at it."""

_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)


class A2AAdapter:
    """An agent that speaks A2A.

    Args:
        url: of the agent's card, or of the server that has it at `/.well-known/agent-card.json`.
        binding: `JSONRPC` or `HTTP+JSON`; None takes the first that the card offers.
        headers: sent with every request, the card's too, such as an Authorization.
        credentials: by the name of a security scheme of the card: an API key, a token, or
            `user:password` for HTTP Basic. They go where the scheme wants them.
        signed_by: public keys by their id (`kid`), as PEM or JWK: one of them must have signed the
            card. Needs `pyjwt[crypto]`. Without it signatures are not looked at.
        hosts: that the card may name besides its own, as `host` or `host:port`.
        timeout: seconds that the server may be silent.
        patience: seconds for which a task is looked for whose server went away, and for which a
            task may still ask for the sign-in that somebody says is done.

    Attributes:
        capabilities: the server keeps the conversation itself, and asks in forms and text.

    Raises:
        ConfigurationError: an option makes no sense.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=False, decline=False, own_history=True
    )

    def __init__(
        self,
        url: str,
        *,
        binding: Binding | None = None,
        headers: Mapping[str, str] | None = None,
        credentials: Mapping[str, str] | None = None,
        signed_by: Mapping[str, str | Mapping[str, Json]] | None = None,
        hosts: Sequence[str] = (),
        timeout: float = 120.0,
        patience: float = 30.0,
    ) -> None:
        if not _is_address(url):
            raise ConfigurationError(
                f"url should be an address such as https://host/, not {url!r}."
            )
        if binding is not None and binding not in get_args(Binding):
            raise ConfigurationError(
                f"binding can't be {binding!r}: it is {' or '.join(get_args(Binding))}."
            )
        self._url = url
        self._binding = binding
        self._credentials = dict(credentials or {})
        self._signers = None if signed_by is None else Signers(signed_by)
        self._hosts = frozenset(hosts)
        self._patience = patience
        self._server = HttpClient(headers=headers or {}, timeout=timeout)
        self._known: PerLoop[list[tuple[float, Interface]]] = PerLoop(list)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no agent has seen the input.
            TaskGone: the task asks nothing any more.
            AgentRefused: the agent rejected it.
            UpstreamError: it failed, or what it sent is no A2A.
            OutcomeUnknown: the same, once it may have taken an answer.
        """
        to = await self._interface(run)
        if run.resume is not None:
            items = self._go_on(run, to, Continuation.from_json(run.resume.continuation))
        else:
            await self._withdraw(run, to)
            items = self._say(run, to, new_parts(run))
        async with contextlib.aclosing(items):
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()
        await self._known.aclose()

    async def _interface(self, run: Run) -> Interface:
        """How the agent is reached, as its card said lately.

        Raises:
            NotDelivered: the card is not there, or of no use.
        """
        known = self._known.get()
        # Before an answer the server shows that it is there: of a card that can't be read nobody
        # needs to ask whether the answer arrived.
        if run.resume is None and known and time.monotonic() - known[0][0] < _CARD_SECONDS:
            return known[0][1]
        address, card = await self._server.card(self._url, run.trace_headers)
        if self._signers is not None:
            card = self._signers.signed_part(card)
        to = interface_of(
            card,
            address,
            binding=self._binding,
            hosts=self._hosts,
            credentials=self._credentials,
        )
        known[:] = [(time.monotonic(), to)]
        return to

    async def _withdraw(self, run: Run, to: Interface) -> None:
        """Cancel the tasks that asked what nobody answered."""
        for batch in run.closed:
            if batch.cause == "lost":
                continue
            kept = Continuation.from_json(batch.continuation)
            # It may be over there as well.
            with contextlib.suppress(AdapterError):
                await self._task(run, to, kept)[1].cancel()

    async def _go_on(
        self, run: Run, to: Interface, kept: Continuation
    ) -> AsyncGenerator[RunItem, None]:
        """Answer what a task asks, or look how it goes on once somebody has signed in."""
        assert run.resume is not None
        along = [m.model_dump(by_alias=True, mode="json") for m in run.resume.new_messages]
        later = (*kept.later, *said_parts(along))
        parts = parts_of(kept, run.resume.decisions, to.version)
        await run.check_stop()
        if run.stop.requested:
            # Nothing begins after a stop. The next run hears that the question is closed.
            return
        run.check_lease()
        reader, exchange = self._task(run, to, kept)
        if not parts:
            # It may be over there as well.
            with contextlib.suppress(TaskGone):
                await exchange.cancel()
        else:
            async with contextlib.aclosing(self._answer(run, kept, exchange, parts)) as items:
                async for item in items:
                    yield item
            if reader.state in ASKS:
                yield pause_of(reader, later)
                return
            _judge(reader)
        if later:
            try:
                async with contextlib.aclosing(self._say(run, to, later)) as items:
                    async for item in items:
                        yield item
            except NotDelivered as error:
                # The answer was: the question does not open again.
                raise UpstreamError(f"{error} The message beside the answer was lost.") from error

    async def _answer(
        self, run: Run, kept: Continuation, exchange: Exchange, parts: Sequence[Part]
    ) -> AsyncGenerator[RunItem, None]:
        """Send an answer, and follow the task.

        Raises:
            NotDelivered: the task still asks, and has not had the answer.
            TaskGone: the task asks nothing any more.
            OutcomeUnknown: it had the answer, or may have, and did not come to an end.
        """
        message = run.mint()
        params = message_params(
            parts, exchange.to, message_id=message, task=kept.task, context=kept.context
        )
        items = exchange.follow() if kept.auth else exchange.say(params)
        try:
            async with contextlib.aclosing(_until_stop(run, exchange, items)) as told:
                async for item in told:
                    yield item
        except TaskGone:
            raise
        except Refused as error:
            if await exchange.still_asks(message):
                raise NotDelivered(f"{error} It still asks.") from error
            raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
        except UpstreamError as error:
            raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error

    async def _say(
        self, run: Run, to: Interface, parts: Sequence[Part]
    ) -> AsyncGenerator[RunItem, None]:
        """Begin a task with a message, in the conversation that the thread has there."""
        context = as_text(as_object(run.memo).get("context"))
        run.check_lease()
        reader = Reader(run, Told())
        exchange = Exchange(self._server, to, reader, run.trace_headers, self._patience)
        params = message_params(parts, to, message_id=run.mint(), task="", context=context)
        async with contextlib.aclosing(_until_stop(run, exchange, exchange.say(params))) as items:
            async for item in items:
                yield item
        if reader.state in ASKS:
            yield pause_of(reader, ())
            return
        _judge(reader)

    def _task(self, run: Run, to: Interface, kept: Continuation) -> tuple[Reader, Exchange]:
        reader = Reader(run, kept.told, kept.asked)
        reader.task, reader.context = kept.task, kept.context
        return reader, Exchange(self._server, to, reader, run.trace_headers, self._patience)


async def _until_stop(
    run: Run, exchange: Exchange, items: AsyncGenerator[RunItem, None]
) -> AsyncGenerator[RunItem, None]:
    """Give the items; a task that a stop has cut off is cancelled at the agent, too."""
    ended = False
    try:
        async with contextlib.aclosing(items):
            async for item in items:
                yield item
        ended = True
    finally:
        reader = exchange.reader
        if reader.context:
            run.memo = {"context": reader.context}
        if run.stop.requested and not ended and reader.task:
            with contextlib.suppress(AdapterError):
                await exchange.cancel()


def _judge(reader: Reader) -> None:
    """Tell an end that is no success as what it is; the agent's own words were told before.

    Raises:
        AgentRefused: the agent rejected the task.
        UpstreamError: it failed, or was cancelled there.
    """
    match reader.state:
        case "TASK_STATE_REJECTED":
            raise AgentRefused("The A2A agent rejected the task.")
        case "TASK_STATE_FAILED":
            raise UpstreamError("The A2A agent's task failed.")
        case "TASK_STATE_CANCELED":
            raise UpstreamError("The A2A agent's task was cancelled there.")


def _is_address(url: str) -> bool:
    with contextlib.suppress(httpx.InvalidURL):
        address = httpx.URL(url)
        return address.scheme in ("http", "https") and bool(address.host)
    return False
