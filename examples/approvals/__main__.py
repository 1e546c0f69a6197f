"""Goes through decisions of two people: `python -m examples.approvals`.

1. Ann has a table deleted, and can't approve it herself.
2. Bob approves, but another table: one of two.
3. Cy approves what Ann proposed: Bob's vote was for other arguments, and counts no more.
4. Bob approves that too, and it is deleted, once: Cy's answer sent again changes nothing.
5. Ann has another one deleted, and withdraws it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from examples.approvals.agent import TOKENS, bridge

TOKEN_OF = {who.actor: token for token, who in TOKENS.items()}
YES = {"approved": True}


async def send(http: httpx.AsyncClient, who: str, **members: Any) -> dict[str, Any]:
    """Send an input as somebody, and show what came back; gives the outcome."""
    body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], **members}
    headers = {"Authorization": f"Bearer {TOKEN_OF[who]}"}
    answer = await http.post("/agents/ops", json=body, headers=headers)
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    outcome: dict[str, Any] = {}
    for event in events:
        if event["type"] == "TOOL_CALL_RESULT":
            print(f"   result: {event['content']}")
        elif event["type"] == "RUN_ERROR":
            print(f"   {event['code']}: {event['message']}")
        elif event["type"] == "RUN_FINISHED":
            outcome = event["outcome"]
    for asked in outcome.get("interrupts", ()):
        rule = asked["metadata"]["agui_bridge"]["approval"]
        voted = ", ".join(rule["votedBy"]) or "nobody"
        print(f"   open: {asked['message']} {rule['votes']} of {rule['quorum']} ({voted})")
    return outcome


async def say(http: httpx.AsyncClient, who: str, table: str) -> str:
    """Have a table deleted; gives the question's id."""
    print(f"\n{who} has {table} deleted")
    message = {"id": table, "role": "user", "content": table}
    outcome = await send(http, who, messages=[message])
    question: str = outcome["interrupts"][0]["id"]
    return question


async def answer(http: httpx.AsyncClient, who: str, question: str, payload: Any) -> str:
    """Answer a question, or cancel it with None; gives the type of the outcome."""
    print(f"\n{who} answers {json.dumps(payload) if payload else 'with a cancel'}")
    entry = {"interruptId": question, "status": "resolved", "payload": payload}
    if payload is None:
        entry = {"interruptId": question, "status": "cancelled"}
    kind: str = (await send(http, who, resume=[entry]))["type"]
    return kind


async def main() -> None:
    transport = httpx.ASGITransport(bridge.app())
    async with (
        bridge.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        question = await say(http, "ann", "orders_2019")
        other = {"approved": True, "editedArgs": {"table": "orders_2018"}}
        told = [
            await answer(http, who, question, payload)
            for who, payload in (
                ("ann", YES),
                ("bob", other),
                ("cy", YES),
                ("bob", YES),
                ("cy", YES),
            )
        ]
        if told != ["interrupt", "interrupt", "interrupt", "success", "success"]:
            raise SystemExit(f"Something else was decided: {told}")
        question = await say(http, "ann", "orders_2020")
        if await answer(http, "ann", question, None) != "success":
            raise SystemExit("Ann could not withdraw her question.")
    print("\nTwo people decided, and neither of them had asked.")


asyncio.run(main())
