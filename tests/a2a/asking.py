"""A client of A2A's wire in either binding, which takes what it is told as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx

Json = dict[str, Any]

_PATHS: Mapping[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{id}/pushNotificationConfigs"),
}


class Refused(Exception):
    """The server's error: its reason, and the bridge's code."""

    def __init__(self, error: Json) -> None:
        (detail,) = error.get("data") or error["details"]
        super().__init__(error["message"])
        self.reason: str = detail["reason"]
        self.code: str | None = detail["metadata"].get("code")


@dataclass
class Client:
    """Speaks to one agent.

    Attributes:
        session: at the bridge.
        binding: `JSONRPC` or `HTTP+JSON`.
        agent: the agent's name.
        headers: sent with each request.
    """

    session: httpx.AsyncClient
    binding: str
    agent: str
    headers: Mapping[str, str] | None = None

    async def call(self, method: str, **params: Any) -> Any:
        """Carry an operation out; gives its result."""
        response = await self.session.send(self._request(method, params))
        told = response.json()
        if "error" in told:
            raise Refused(told["error"])
        return told["result"] if self.binding == "JSONRPC" else told

    async def stream(self, method: str, **params: Any) -> list[Json]:
        """Carry one out that streams; gives all events."""
        return [event async for event in self.events(method, **params)]

    async def events(self, method: str, **params: Any) -> Any:
        """The same, one after the other."""
        response = await self.session.send(self._request(method, params), stream=True)
        try:
            if not response.headers["content-type"].startswith("text/event-stream"):
                raise Refused(json.loads(await response.aread())["error"])
            async for line in response.aiter_lines():
                if not line.startswith("data: "):
                    continue
                told = json.loads(line[6:])
                if "error" in told:
                    raise Refused(told["error"])
                yield told["result"] if self.binding == "JSONRPC" else told
        finally:
            await response.aclose()

    async def say(self, text: Any, id: str = "m1", **more: Any) -> Json:
        """Send a message that begins a task, or goes on with one; gives the task."""
        task: Json = (await self.call("SendMessage", **message(text, id, **more)))["task"]
        return task

    async def answer(self, task: Json, *payloads: Any, id: str = "a1") -> Json:
        """Answer all that a task asks, in its order; None cancels."""
        told: Json = (await self.call("SendMessage", **answer(task, *payloads, id=id)))["task"]
        return told

    def _request(self, method: str, params: Json) -> httpx.Request:
        headers = {"A2A-Version": "1.0", **(self.headers or {})}
        base = f"/a2a/{self.agent}"
        if self.binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return self.session.build_request("POST", base, json=body, headers=headers)
        verb, path = _PATHS[method]
        path = base + path.replace("{id}", str(params.get("id")))
        given = {name: value for name, value in params.items() if name != "id"}
        if verb == "GET":
            query = urlencode({name: json.dumps(v).strip('"') for name, v in given.items()})
            return self.session.build_request("GET", f"{path}?{query}", headers=headers)
        return self.session.build_request("POST", path, json=given, headers=headers)


def message(text: Any, id: str = "m1", **more: Any) -> Json:
    """The parameters of a message; a list is its parts."""
    parts = text if isinstance(text, list) else [{"text": text}]
    options = {name: more.pop(name) for name in ("configuration",) if name in more}
    return {"message": {"messageId": id, "role": "ROLE_USER", "parts": parts, **more}, **options}


def asked(task: Json) -> list[Json]:
    """What a task asks."""
    if "message" not in task["status"]:
        return []
    found = [part["data"] for part in task["status"]["message"]["parts"] if "data" in part]
    return found[0]["interrupts"] if found else []


def answer(task: Json, *payloads: Any, id: str = "a1") -> Json:
    """The parameters of an answer to all that a task asks."""
    entries = [
        {"interruptId": each["id"], "status": "cancelled"}
        if payload is None
        else {"interruptId": each["id"], "status": "resolved", "payload": payload}
        for each, payload in zip(asked(task), payloads, strict=True)
    ]
    return message([{"data": {"resume": entries}}], id, taskId=task["id"])


def state(task: Json) -> str:
    """Where it stands."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def said(task: Json) -> str:
    """What the agent has said."""
    parts = [part for each in task.get("artifacts", ()) for part in each["parts"]]
    return "".join(part.get("text", "") for part in parts)
