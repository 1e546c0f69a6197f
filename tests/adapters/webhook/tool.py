"""A workflow tool as a process, which keeps its executions in files as n8n does in a database.

    python -m tests.adapters.webhook.tool --port 28130 --effects effects.jsonl

A message names a workflow of `WORKFLOWS`, and perhaps a version. What its steps do is a line of
the file of effects. Starts, waits, resume addresses, statuses and stops behave as those of n8n
1.123: an execution that waits takes any POST at its resume address, one that runs or has ended
answers it with 409, and what runs when the process dies has crashed. Callbacks are signed with the
library of the specification's authors, and tried again as n8n's HTTP Request node does with "Retry
On Fail".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SECRET = "whsec_" + "c2VjcmV0LW9mLXRoZS10ZXN0cy0zMi1ieXRlcyE="
_TRIES = 100
_PAUSE = 0.1
_BEFORE_WAIT = 0.05
"""Seconds between a callback and the wait that it tells of, as in n8n."""

ORDER = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"enum": ["S", "M", "L"]}},
}


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Work:
    seconds: float


@dataclass(frozen=True)
class Ask:
    """Asks, and does what is approved or takes what is answered; the callback has `told`."""

    id: str
    told: Mapping[str, Any]


@dataclass(frozen=True)
class End:
    told: Mapping[str, Any]


EDITABLE = {"type": "object", "properties": {"version": {"type": "string"}}}
DEPLOY = Ask("deploy", {"tool": "deploy", "message": "Deploy it?", "parameters": EDITABLE})
DONE = End({"type": "finished", "message": "Done."})
STEPS = Say | Work | Ask | End

WORKFLOWS: dict[str, list[STEPS]] = {
    "hello": [End({"type": "finished", "message": "Hello.", "result": {"greeted": True}})],
    "deploy": [DEPLOY, DONE],
    "order": [Ask("order", {"message": "Which size?", "schema": ORDER}), DONE],
    "free": [Ask("free", {"message": "Anything?", "schema": {}}), DONE],
    "twice": [DEPLOY, Ask("pay", {"tool": "pay", "args": {"amount": 5}}), DONE],
    "slow": [*(step for n in range(100) for step in (Say(f"Part {n}. "), Work(0.3))), DEPLOY, DONE],
    "later": [Work(6), DEPLOY, DONE],
    "brief": [Ask("brief", {**DEPLOY.told, "expiresIn": 2.0}), DONE],
}


class Tool:
    """Executions in a folder, one file each.

    Args:
        url: the tool's own.
        effects: the file of effects.
    """

    def __init__(self, url: str, effects: Path) -> None:
        self._url = url
        self._effects = effects
        self._folder = effects.parent / "executions"
        self._folder.mkdir(exist_ok=True)
        self._webhook = Webhook(SECRET)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        for file in self._folder.glob("*.json"):
            if (kept := json.loads(file.read_text()))["status"] == "running":
                self._keep({**kept, "status": "crashed"})

    # --- what it serves ---

    async def start(self, request: Request) -> Response:
        body = await request.body()
        try:
            self._webhook.verify(body, dict(request.headers))
        except WebhookVerificationError:
            return JSONResponse({"message": "wrong signature"}, 401)
        started = json.loads(body)
        name, _, version = started["message"].partition(" ")
        kept = {"id": uuid.uuid4().hex[:8], "status": "running", "at": 0, "token": uuid.uuid4().hex}
        kept |= {"workflow": name, "callback": started["callbackUrl"], "version": version or "v2"}
        self._keep(kept)
        self._go_on(kept)
        return JSONResponse({"message": "Workflow was started", "executionId": kept["id"]})

    async def resume(self, request: Request) -> Response:
        kept = self._kept(request.path_params["id"])
        if kept is None:
            return JSONResponse({"message": "The execution does not exist."}, 404)
        if request.query_params.get("signature") != kept["token"]:
            return JSONResponse({"error": "Invalid token"}, 401)
        if kept["status"] != "waiting":
            word = "is running already" if kept["status"] == "running" else "has finished already"
            return JSONResponse({"message": f"The execution {word}."}, 409)
        answer = await request.json()
        kept = {**kept, "status": "running", "at": kept["at"] + 1}
        self._keep(kept)
        self._go_on(kept, answer)
        return JSONResponse({"message": "Workflow was started"})

    async def show(self, request: Request) -> Response:
        kept = self._kept(request.path_params["id"])
        if kept is None:
            return JSONResponse({"message": "Not Found"}, 404)
        return JSONResponse({"id": kept["id"], "status": kept["status"]})

    async def stop(self, request: Request) -> Response:
        kept = self._kept(request.path_params["id"])
        if kept is None:
            return JSONResponse({"message": "Not Found"}, 404)
        if (task := self._tasks.pop(kept["id"], None)) is not None:
            task.cancel()
        self._keep({**kept, "status": "canceled"})
        return JSONResponse({"status": "canceled"})

    # --- what it does ---

    def _go_on(self, kept: dict[str, Any], answer: Any = None) -> None:
        self._tasks[kept["id"]] = asyncio.create_task(self._carry_out(kept, answer))

    async def _carry_out(self, kept: dict[str, Any], answer: Any) -> None:
        steps, result = WORKFLOWS[kept["workflow"]], None
        if answer is not None:
            result = self._do(steps[kept["at"] - 1], answer)
        for at in range(kept["at"], len(steps)):
            step = steps[at]
            if isinstance(step, Work):
                await asyncio.sleep(step.seconds)
                continue
            told = self._told(kept, step)
            if result is not None:
                told["toolResult"], result = result, None
            kept = {**kept, "at": at}
            await self._call_back(kept, told)
            if isinstance(step, Ask):
                await asyncio.sleep(_BEFORE_WAIT)
                self._keep({**kept, "status": "waiting"})
                return
        self._keep({**kept, "status": "success"})

    def _do(self, step: STEPS, answer: Any) -> str | None:
        """What the nodes behind the wait do: the recipe's IF compares the question's id, too."""
        assert isinstance(step, Ask)
        if answer["id"] != step.id:
            return None
        if answer["approved"]:
            self._note(answer["args"])
            return "deployed"
        if answer["status"] == "answered":
            self._note(answer["payload"])
        return None

    def _told(self, kept: Mapping[str, Any], step: STEPS) -> dict[str, Any]:
        match step:
            case Say(text):
                return {"type": "message", "message": text, "executionId": kept["id"]}
            case Ask(id, told):
                if told.get("tool") == "deploy":
                    told = {**told, "args": {"version": kept["version"]}}
                url = f"{self._url}/webhook-waiting/{kept['id']}?signature={kept['token']}"
                return {"type": "question", "id": id, "executionId": kept["id"], **told,
                        "resumeUrl": url}  # fmt: skip
            case End(told):
                return dict(told)
        raise AssertionError(step)

    async def _call_back(self, kept: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        body, id, now = json.dumps(told), uuid.uuid4().hex, datetime.now(tz=UTC)
        headers = {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(id, now, body),
        }
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(_TRIES):
                try:
                    url = kept["callback"]
                    response = await client.post(url, content=body, headers=headers, timeout=5)
                except httpx.TransportError:
                    await asyncio.sleep(_PAUSE)
                    continue
                if response.status_code == 410:
                    self._keep({**kept, "status": "error"})
                    raise asyncio.CancelledError
                if response.status_code == 200:
                    return
                await asyncio.sleep(_PAUSE)

    def _note(self, effect: Any) -> None:
        with self._effects.open("a") as file:
            file.write(json.dumps(effect) + "\n")

    def _keep(self, kept: Mapping[str, Any] | None) -> None:
        assert kept is not None
        file = self._folder / f"{kept['id']}.json"
        file.with_suffix(".new").write_text(json.dumps(kept))
        file.with_suffix(".new").replace(file)

    def _kept(self, id: str) -> dict[str, Any] | None:
        file = self._folder / f"{id}.json"
        return json.loads(file.read_text()) if file.exists() else None


def app_of(url: str, effects: Path) -> Starlette:
    """The tool's app."""
    tool = Tool(url, effects)
    return Starlette(
        routes=[
            Route("/webhook/agents", tool.start, methods=["POST"]),
            Route("/webhook-waiting/{id}", tool.resume, methods=["POST"]),
            Route("/api/v1/executions/{id}", tool.show),
            Route("/api/v1/executions/{id}/stop", tool.stop, methods=["POST"]),
        ]
    )


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--effects", type=Path, required=True)
    options = parser.parse_args()
    app = app_of(f"http://127.0.0.1:{options.port}", options.effects)
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
