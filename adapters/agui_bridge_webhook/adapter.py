"""The adapter: a message starts a workflow, what it calls back is told and asked, answers go back.

The bridge keeps each callback before it acknowledges it (docs/contract.md, "Callbacks"). Here it is
decided which are genuine, and whether anything waits for them.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from agui_bridge.adapters import AdapterCapabilities, Callback, Run, RunItem, Standing
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.webhook_signatures import is_signed, key_of
from agui_bridge_webhook.execution import Execution, Token
from agui_bridge_webhook.http_client import HttpClient, address_of
from agui_bridge_webhook.told import Misread, each_once, told_in
from agui_bridge_webhook.turn import Settings, Turn

_LONGEST: Final = 23 * 60 * 60.0
"""Seconds for which the bridge looks after work that a run has left, and an hour less."""


class WebhookAdapter:
    """A workflow of a tool that takes and sends webhooks: n8n, Dify, Zapier and others.

    Args:
        url: that starts the workflow, by POST.
        callback_url: of the bridge, as the tool reaches it, such as `https://agents.example.com`.
        secret: `whsec_` and 24 to 64 bytes in base64. It signs what goes to the tool and the
            addresses that the tool calls back, and the tool signs with it. While it is rotated
            several: the first makes addresses, all sign, any of them counts.
        signed: whether callbacks must be signed. Without it whoever knows a callback's address may
            tell of that one execution.
        hosts: that questions may be answered at, besides that of `url`: `host` or `host:port`.
        headers: sent to the host of `url`, and to `status_url` and `cancel_url`, such as an
            Authorization. Never to another host.
        status_url: says what an execution does, by GET; `{execution}` in it is the tool's id.
        cancel_url: cancels an execution, by POST; `{execution}` likewise.
        timeout: seconds that the answer to a request may be silent; all of it may take twice as
            long.
        patience: seconds for which a run waits for the next callback.
        longest: seconds after which an execution is given up that tells nothing, 23 hours at most.

    Attributes:
        capabilities: it asks for approvals and in forms; the tool has no conversation itself.

    Raises:
        ConfigurationError: an option makes no sense.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(edit=True, looks=True, called_back=True)

    def __init__(
        self,
        url: str,
        *,
        callback_url: str,
        secret: str | Sequence[str],
        signed: bool = True,
        hosts: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        status_url: str | None = None,
        cancel_url: str | None = None,
        timeout: float = 30.0,
        patience: float = 30.0,
        longest: float = _LONGEST,
    ) -> None:
        if isinstance(hosts, str):
            raise ConfigurationError(f"hosts is a list: write [{hosts!r}].")
        if not 0 < longest <= _LONGEST:
            raise ConfigurationError(f"longest: must be above 0 and {_LONGEST:.0f} at most.")
        address_of("callback_url", callback_url)
        self._callback_url = callback_url.rstrip("/")
        self._keys = [_key_of(one) for one in ([secret] if isinstance(secret, str) else secret)]
        if not self._keys:
            raise ConfigurationError("secret: there is none to sign with.")
        self._signed = signed
        self._settings = Settings(url, status_url, cancel_url, patience, longest)
        self._server = HttpClient(
            url,
            keys=self._keys,
            headers=headers or {},
            hosts=hosts,
            asides=[aside for aside in (status_url, cancel_url) if aside is not None],
            timeout=timeout,
        )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no workflow has seen the input.
            Gone: the workflow waits for the answer no more.
            UpstreamError: it failed, was not heard of, or works on something else.
            OutcomeUnknown: it may have taken an answer.
        """

        def callback_url(execution: str) -> str:
            token = Token(run.principal.scope, run.thread_id, execution)
            path = f"agents/{quote(run.agent)}/callbacks/{token.write(self._keys[0], run.agent)}"
            return f"{self._callback_url}/{path}"

        turn = Turn(run, self._server, self._settings, callback_url)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def look(self, left: Json) -> bool:
        """Say whether an execution is to be given up, or has ended without a callback.

        Args:
            left: what a run has left.
        """
        execution, template = Execution.from_json(left), self._settings.status_url
        if time.time() >= execution.until:
            return True
        if template is None or ("{execution}" in template and not execution.remote):
            return False
        status, _ = await self._server.status(template, execution.remote)
        return status in ("finished", "failed", "cancelled")

    def read_callback(
        self, agent: str, token: str, headers: Mapping[str, str], body: bytes, now: float
    ) -> Callback:
        """Read a callback of the tool.

        Args:
            agent: the agent's name.
            token: the last part of the path.
            headers: the request's.
            body: as it came.
            now: seconds since the epoch.

        Raises:
            Refused: UNAUTHENTICATED: its address is none of ours, or nobody signed it lately.
                INVALID_INPUT: it makes no sense. FORBIDDEN: its answer would go to a host that
                `hosts` does not name.
        """
        whose = Token.read(token, self._keys, agent)
        if whose is None:
            raise Refused("UNAUTHENTICATED", "This address is not one that the bridge has made.")
        if self._signed and not is_signed(self._keys, headers, body, now):
            raise Refused(
                "UNAUTHENTICATED",
                "The callback is not signed with the adapter's secret in the last five minutes: "
                "see docs/webhook.md for how to sign, and check both clocks.",
            )
        try:
            read = json.loads(body, object_pairs_hook=each_once)
            told = told_in(read, headers.get("webhook-id") if self._signed else None)
        except Misread as error:
            raise Refused("INVALID_INPUT", f"The callback can't be read. {error}") from None
        except (ValueError, RecursionError):
            raise Refused("INVALID_INPUT", "The callback is no JSON.") from None
        asks = told.question
        if asks is not None and (fault := self._server.fault_of(asks.resume_url)) is not None:
            raise Refused("FORBIDDEN", f"resumeUrl: {fault}")
        kept = {"execution": whose.execution, "told": {**told.raw, "id": told.id}}
        return Callback(whose.scope, whose.thread, told.id, kept)

    def judge_callback(self, left: Json, callback: Callback) -> Standing:
        """Say whether an execution that a run has left waits for a callback.

        Args:
            left: what a run has left.
            callback: as `read_callback` gave it.
        """
        execution = Execution.from_json(left)
        if callback.body["execution"] != execution.id:
            return "over"
        if callback.id in execution.heard:
            return "heard"
        return "over" if execution.tells_too_much else "new"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()


def _key_of(secret: str) -> bytes:
    key = key_of(secret)
    if key is None:
        raise ConfigurationError(
            "secret: must be whsec_ and 24 to 64 bytes in base64: openssl rand -base64 32 makes "
            "what follows the prefix."
        )
    return key
