"""A fixed agent for black-box checks: it pauses on demand and counts its side effects in a file.

    python -m examples.approval_target --port 8788 --effects effects.jsonl --store sqlite:///t.db

The agent at /agents/target heeds these user messages:

    send X      one gated call of send_email to X-0
    both X      two of them in parallel, to X-0 and X-1
    form X      a form: {quarter: Q1..Q4, year: integer}
    amid X      a call of send_report, whose tool asks for a quarter in its middle
    confirm X   a plain confirmation
    sure X      a plain confirmation, after which send_email is called at once
    falsy X     a question that `false` answers
    brief X     as send, and the question expires after a second
    frontend X  a call of the application's tool show_page
    mixed X     as send and frontend, at once
    slow N      streams N tokens, one every 50 ms
    crash X     a gated call whose tool appends its line, then kills the process

Anything else is answered with text. Each execution of the tool appends one JSON line to FILE.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from agui_bridge import (
    Answer,
    Ask,
    BearerTokens,
    Bridge,
    FunctionRun,
    NeedsInput,
    Principal,
    Settings,
    answered,
)
from examples.guide import serve_here

LOOPBACK = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"
TOOL_SECONDS = 0.2
TOKEN_SECONDS = 0.05
BRIEF_SECONDS = 1.0

TOKENS = {
    "ann-of-the-approval-target": Principal("ann", "ann"),
    "bob-of-the-approval-target": Principal("bob", "bob"),
}
"""Two people who must not see each other's threads; no secret, since the target holds none."""


class Email(BaseModel):
    """Parameters of send_email."""

    to: str
    body: str


class Quarter(BaseModel):
    """What the form asks for."""

    quarter: Literal["Q1", "Q2", "Q3", "Q4"]
    year: int


def make_bridge(
    store: str,
    effects: Path,
    expires_in: float | None = None,
    lease_seconds: float = 30.0,
    tokens: bool = False,
    busy_patience: float = 0.25,
    **options: Any,
) -> Bridge:
    """The bridge with its one agent.

    Args:
        store: store URL.
        effects: file to which every execution of the tool appends a line.
        expires_in: seconds until an interrupt expires; None is never.
        lease_seconds: a run whose process is silent this long counts as lost.
        tokens: whether requests need one of TOKENS.
        busy_patience: seconds for which a message waits for another run before it is refused.
        **options: further ones of the bridge, such as `inbox`; `authenticate` in place of TOKENS.
    """
    settings = Settings(
        expires_in=expires_in, lease_seconds=lease_seconds, busy_patience=busy_patience
    )
    options.setdefault("authenticate", BearerTokens(TOKENS) if tokens else None)
    bridge = Bridge(store, settings=settings, cors_origin_regex=LOOPBACK, **options)

    async def send_email(to: str, body: str) -> str:
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    async def send_report(to: str) -> str | NeedsInput:
        given = answered()
        if given is None:
            return NeedsInput(
                [
                    Ask(
                        "which",
                        message="Of which quarter?",
                        response_schema=Quarter.model_json_schema(),
                    )
                ]
            )
        match given.answers["which"]:
            case Answer({"quarter": quarter}):
                _append(effects, {"tool": "send_report", "to": to, "quarter": quarter})
                return f"sent to {to}"
        return "not sent"

    async def crash(to: str, body: str) -> str:
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    async def gated(run: FunctionRun, to: str, tool: Any, expires_in: float | None = None) -> str:
        approval = await run.approve(
            "send_email",
            {"to": to, "body": "original"},
            message=f"Send an email to {to}?",
            parameters=Email,
            expires_in=expires_in,
            key=to,
        )
        if not approval.approved:
            return "expired" if approval.cause == "expired" else "not sent"
        return str(await run.tool(approval, tool))

    @bridge.agent("target", description="Pauses on demand; see examples/approval_target.py.")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        verb, _, rest = run.text.strip().partition(" ")
        name = rest.strip() or "nobody"
        if verb == "send":
            yield f"Outcome: {await gated(run, f'{name}-0@example.com', send_email)}."
        elif verb == "both":
            outcomes = await asyncio.gather(
                *(gated(run, f"{name}-{n}@example.com", send_email) for n in (0, 1))
            )
            yield f"Outcomes: {', '.join(outcomes)}."
        elif verb == "form":
            form = await run.ask(f"Which quarter for {name}?", schema=Quarter)
            yield "No quarter." if form is None else f"Quarter: {form.quarter} {form.year}."
        elif verb == "amid":
            yield f"Outcome: {await run.call('send_report', {'to': name}, send_report)}."
        elif verb == "confirm":
            yes = await run.confirm(f"Go on with {name}?")
            yield "Confirmed." if yes else "Not confirmed."
        elif verb == "sure":
            if await run.confirm(f"Send an email to {name}?"):
                await run.call("send_email", {"to": name, "body": "confirmed"}, send_email)
            yield "Done."
        elif verb == "falsy":
            answer = await run.ask(f"Is {name} here?", schema={"type": "boolean"})
            yield f"Answer: {json.dumps(answer)}."
        elif verb == "brief":
            outcome = await gated(run, f"{name}-0@example.com", send_email, BRIEF_SECONDS)
            yield f"Outcome: {outcome}."
        elif verb == "frontend":
            shown = await run.frontend_tool("show_page", {"page": name})
            yield f"Shown: {shown}."
        elif verb == "mixed":
            outcome, shown = await asyncio.gather(
                gated(run, f"{name}-0@example.com", send_email),
                run.frontend_tool("show_page", {"page": name}),
            )
            yield f"Outcome: {outcome}. Shown: {shown}."
        elif verb == "slow":
            for number in range(int(name) if name.isdecimal() else 20):
                await asyncio.sleep(TOKEN_SECONDS)
                yield f"{number} "
        elif verb == "crash":
            yield f"Outcome: {await gated(run, f'{name}-0@example.com', crash)}."
        else:
            yield f"You said: {run.text}"

    return bridge


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def tell(port: int) -> None:
    """Say where it is."""
    print(f"Serving http://127.0.0.1:{port}/agents/target (Ctrl-C ends it).", flush=True)


def main() -> None:
    """Serve the target until interrupted."""
    parser = argparse.ArgumentParser(description="A fixed agent for black-box checks.")
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument(
        "--effects", type=Path, default=Path("effects.jsonl"), help="file of executions"
    )
    parser.add_argument("--store", default="memory:", help="store URL, such as sqlite:///target.db")
    parser.add_argument("--expires-in", type=float, help="seconds until an interrupt expires")
    parser.add_argument("--lease", type=float, default=30.0, help="seconds of a run's lease")
    parser.add_argument("--tokens", action="store_true", help="requests need a bearer token")
    parser.add_argument(
        "--busy-patience", type=float, default=0.25, help="seconds that a message waits for a run"
    )
    options = parser.parse_args()
    bridge = make_bridge(
        options.store,
        options.effects,
        options.expires_in,
        options.lease,
        options.tokens,
        options.busy_patience,
    )
    serve_here(bridge, options.port, tell)


if __name__ == "__main__":
    main()
