"""A coding agent without a model: it wants to write what it was told into a file, and asks first.

It speaks the Agent Client Protocol on its standard input and output, as Codex or Gemini do, and
keeps its sessions as files in its home. `python -m examples.acp_agent.coder`
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from pathlib import Path
from typing import Any

SESSIONS = Path.home() / "sessions"
APPROVED = re.compile(r"exactly as it was:\nwrite (\{.*\})")


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return dict(json.loads(line))


def tell(session: str, update: dict[str, Any]) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def say(session: str, text: str) -> None:
    content = {"type": "text", "text": text}
    tell(session, {"sessionUpdate": "agent_message_chunk", "content": content})


def ask(session: str, call: dict[str, Any]) -> str | None:
    """Ask for a permission; gives what was chosen, None where the turn was cancelled."""
    options = [{"optionId": k, "name": k, "kind": k} for k in ("allow_once", "reject_once")]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": "permission", "method": "session/request_permission", "params": params})
    while (message := receive()).get("id") != "permission":
        pass  # A notification: the turn is cancelled, and so will be the question.
    outcome = message["result"]["outcome"]
    return outcome["optionId"] if outcome["outcome"] == "selected" else None


def write(session: str, arguments: dict[str, Any]) -> str:
    """Make the call, once it may be made; gives why the turn ends."""
    call: dict[str, Any] = {"toolCallId": secrets.token_hex(6), "title": "Write notes.txt"}
    call |= {"kind": "edit", "name": "write", "rawInput": arguments, "status": "pending"}
    chosen = ask(session, call)
    if chosen is None:
        return "cancelled"
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"]}
    if chosen == "allow_once":
        with open("notes.txt", "a", encoding="utf-8") as file:
            file.write(arguments["text"] + "\n")
        tell(session, {**update, "status": "completed", "rawOutput": "written"})
        say(session, "It is written.")
    else:
        tell(session, {**update, "status": "failed", "rawOutput": "not written"})
    return "end_turn"


def prompt(session: str, text: str) -> str:
    """Take a turn as a model would; gives why it ends."""
    if approved := APPROVED.search(text):
        return write(session, json.loads(approved[1]))
    if text.startswith("Your last turn was ended"):
        say(session, "I leave it, then.")
        return "end_turn"
    say(session, "I will note it. ")
    return write(session, {"path": "notes.txt", "text": text})


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What a request comes to; None where it fails."""
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        case "session/new":
            session = secrets.token_hex(8)
            SESSIONS.mkdir(exist_ok=True)
            (SESSIONS / session).touch()
            return {"sessionId": session}
        case "session/load":
            return {} if (SESSIONS / params["sessionId"]).exists() else None
        case "session/prompt":
            text = "\n".join(block.get("text", "") for block in params["prompt"])
            return {"stopReason": prompt(params["sessionId"], text)}
    return None


def main() -> None:
    while True:
        message = receive()
        if "method" not in message or "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        failed = {"code": -32602, "message": "Invalid params"}
        told = {"error": failed} if result is None else {"result": result}
        send({"id": message["id"], **told})


if __name__ == "__main__":
    main()
