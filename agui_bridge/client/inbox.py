"""A client of an agui-bridge server's questions: found, shown, and answered one alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self
from urllib.parse import quote

import httpx

from agui_bridge.client.conversation import Cancelled, Resolved
from agui_bridge.client.exchange import HttpError, NotReached

_CONNECT: Final = 10.0
_SILENCE: Final = 60.0
"""Seconds that a server may take, besides what it is asked to wait."""


class InboxClient:
    """The questions of an agui-bridge server, as one person sees them.

    ::

        async with InboxClient("http://127.0.0.1:8787", headers=headers) as inbox:
            page = await inbox.pending(tool="delete_rows")
            for question in page["interrupts"]:
                if question["mayAnswer"]:
                    await inbox.answer(question["ref"], {"approved": True})

    What is given is JSON as schemas/questions.json, question.json and answer.json have it.

    Args:
        url: of the server, or of the path that the bridge is mounted on.
        headers: sent with every request, such as an Authorization.
        http: an httpx client of yours; it is not closed here.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.url: str = url.rstrip("/")
        self._headers = dict(headers or {})
        self._owns = http is None
        self._http = http or httpx.AsyncClient(timeout=httpx.Timeout(_SILENCE, connect=_CONNECT))

    async def pending(
        self,
        *,
        agent: str | None = None,
        tool: str | None = None,
        thread: str | None = None,
        status: str | None = "open",
        mine: bool = False,
        after: str | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Find questions, oldest first: by default those that are open.

        Args:
            agent: of this agent; None: of any.
            tool: about a call of this tool; None: about anything.
            thread: of threads of this id; None: of any.
            status: with this status; None: with any.
            mine: only those that the caller may still answer or vote on.
            after: the `cursor` of the page before; None: from the first.
            limit: as many at most.

        Raises:
            NotReached: no connection.
            HttpError: the server refused it, or is none of ours.
        """
        wanted = {
            "agent": agent,
            "tool": tool,
            "thread": thread,
            "status": None if mine else status,
            "mine": "true" if mine else None,
            "after": after,
            "limit": str(limit),
        }
        query = {name: value for name, value in wanted.items() if value is not None}
        return await self._ask("GET", "/interrupts", query)

    async def show(self, ref: str) -> dict[str, Any]:
        """One question.

        Args:
            ref: its reference.

        Raises:
            NotReached: no connection.
            HttpError: there is no such question for the caller, or the server is none of ours.
        """
        return await self._ask("GET", f"/interrupts/{quote(ref, safe='')}", {})

    async def answer(
        self, ref: str, payload: Any = None, *, cancel: bool = False, wait: float | None = None
    ) -> dict[str, Any]:
        """Answer one question, also while others of its pause are open.

        Look at the `status` of what is given: `refused` has a `code` and a `message`.

        Args:
            ref: its reference.
            payload: the answer, of the shape of its `responseSchema`; or Resolved, or Cancelled.
            cancel: answer it with nothing.
            wait: seconds to wait for the end of the run that it sets off; None: as many as the
                server usually waits.

        Raises:
            NotReached: no connection.
            HttpError: there is no such question for the caller, or the server is none of ours.
        """
        if isinstance(payload, Resolved):
            payload = payload.payload
        cancel = cancel or isinstance(payload, Cancelled)
        body = {"status": "cancelled"} if cancel else {"status": "resolved", "payload": payload}
        query = {} if wait is None else {"wait": f"{wait:.3f}"}
        path = f"/interrupts/{quote(ref, safe='')}/answer"
        return await self._ask("POST", path, query, body, patience=wait or 0.0)

    async def aclose(self) -> None:
        """Close the connections that were opened here."""
        if self._owns:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Any = None,
        *,
        patience: float = 0.0,
    ) -> dict[str, Any]:
        url = f"{self.url}{path}"
        try:
            answer = await self._http.request(
                method,
                url,
                params=query,
                json=body,
                headers=self._headers,
                timeout=httpx.Timeout(_SILENCE + patience, connect=_CONNECT),
            )
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            raise NotReached(f"{self.url} can't be reached: {said}") from error
        try:
            told = answer.json()
        except ValueError:
            told = None
        if answer.is_success and isinstance(told, dict):
            return told
        fault = told.get("error") if isinstance(told, dict) else None
        if isinstance(fault, dict) and isinstance(fault.get("message"), str):
            raise HttpError(answer.status_code, fault["message"], fault.get("code"))
        raise HttpError(
            answer.status_code,
            f"{self.url} answered with HTTP status {answer.status_code}, not as an agui-bridge "
            "server does: give the address of one, without a path below it.",
        )
