"""Agents in a FastAPI app of your own, for the people whom that app has signed in.

    pip install . fastapi
    python -m examples.fastapi_app                       # http://127.0.0.1:8787/docs

Sign in, say something, see what is asked, and approve it:

    curl -s -c jar -X POST 'http://127.0.0.1:8787/login?name=ann'
    curl -s -b jar http://127.0.0.1:8787/me
    curl -sN -b jar http://127.0.0.1:8787/ai/agents/ops -H 'Content-Type: application/json' -d '{
      "threadId": "t1", "runId": "r1",
      "messages": [{"id": "m1", "role": "user", "content": "Clean up"}]}'
    ID=$(curl -s -b jar 'http://127.0.0.1:8787/ai/interrupts?status=open' |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["interrupts"][0]["id"])')
    curl -sN -b jar http://127.0.0.1:8787/ai/agents/ops -H 'Content-Type: application/json' -d '{
      "threadId": "t1", "runId": "r2", "messages": [],
      "resume": [{"interruptId": "'$ID'", "status": "resolved", "payload": {"approved": true}}]}'

The last stream says "10 rows of users are deleted." Without the cookie, every route answers 401.

`signed_in` is the app's own: its routes take it as a dependency, the bridge as `authenticate`. So
nobody is asked to sign in twice, and each person has threads of their own.
"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request, Response

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.fastapi import document_bridge

SESSIONS: dict[str, str] = {}
"""Who is signed in, by the cookie's value. Stands in for the app's own sign-in."""

DELETED: list[dict[str, object]] = []
"""Stands in for a database."""


def signed_in(request: Request) -> str:
    """Who asks.

    Raises:
        HTTPException: 401, nobody is signed in.
    """
    name = SESSIONS.get(request.cookies.get("session", ""))
    if name is None:
        raise HTTPException(401, "Sign in first: POST /login with your name.")
    return name


def principal(request: Request) -> Principal:
    """Who asks, as the bridge knows people: each has threads of their own."""
    name = signed_in(request)
    return Principal(scope=name, actor=name)


# Who reads cookies names the hosts: a page from elsewhere must not use them.
bridge = Bridge(
    "memory:", authenticate=principal, allowed_hosts=("127.0.0.1", "localhost"), copilotkit=None
)


@bridge.agent("ops")
async def ops(run: FunctionRun) -> AsyncIterator[str]:
    """Deletes old users, once you have approved it."""
    args = {"table": "users", "limit": 10}
    approval = await run.approve("delete_rows", args, message="Delete 10 users?", fn=delete_rows)
    if approval:
        yield await run.tool(approval, delete_rows)
    else:
        yield "Nothing was deleted."


async def delete_rows(table: str, limit: int) -> str:
    """Delete rows of a table."""
    DELETED.append({"table": table, "limit": limit})
    return f"{limit} rows of {table} are deleted."


app = FastAPI(title="Our app", lifespan=bridge.lifespan)
app.mount("/ai", bridge.app())
document_bridge(app, bridge, "/ai")


@app.post("/login")
def login(name: str, response: Response) -> dict[str, str]:
    """Sign in under a name; a real app asks for more."""
    session = secrets.token_urlsafe()
    SESSIONS[session] = name
    response.set_cookie("session", session, httponly=True, samesite="strict")
    return {"name": name}


@app.get("/me")
def me(name: Annotated[str, Depends(signed_in)]) -> dict[str, str]:
    """Who you are: a route of the app's own, with the same sign-in."""
    return {"name": name}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Agents in a FastAPI app.")
    parser.add_argument("--port", type=int, default=8787)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port)
