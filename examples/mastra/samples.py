"""The samples of Mastra's documentation on network approval, by an AG-UI client in Python.

    python -m examples.mastra             # the bridge
    python -m examples.mastra.samples     # these, one after the other

What is `approveNetworkToolCall`, `declineNetworkToolCall` and `resumeNetwork` there is one and the
same here: a `resume` with the answer to the interrupt. No run id, no tool call id, no memory.
"""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any

import httpx

__all__ = ["SAMPLES", "Chat", "run_samples"]


class Chat:
    """One thread of one agent, as a client has it."""

    def __init__(self, bridge: str, agent: str, *, auto_resume: bool = False) -> None:
        self._url = f"{bridge}/agents/{agent}"
        self._thread = secrets.token_hex(8)
        self._messages: list[dict[str, Any]] = []
        self._props = {"autoResume": True} if auto_resume else {}
        self.interrupts: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        """Send a message."""
        print(f"User:  {text}")
        message = {"id": secrets.token_hex(8), "role": "user", "content": text}
        self._run(messages=[*self._messages, message])

    def answer(self, payload: dict[str, Any]) -> None:
        """Answer the one interrupt that is open."""
        (interrupt,) = self.interrupts
        print(f"User:  {json.dumps(payload)}")
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        self._run(messages=self._messages, resume=[entry])

    def _run(self, **members: Any) -> None:
        body = {
            "threadId": self._thread,
            "runId": secrets.token_hex(8),
            "protocolVersion": "1.0",
            "forwardedProps": self._props,
            **members,
        }
        said, results = "", []
        with httpx.stream("POST", self._url, json=body, timeout=60, trust_env=False) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if not line.startswith("data:"):
                    continue
                event: dict[str, Any] = json.loads(line[5:])
                match event["type"]:
                    case "TEXT_MESSAGE_CONTENT":
                        said += event["delta"]
                    case "TOOL_CALL_RESULT":
                        results.append(event["content"])
                    case "MESSAGES_SNAPSHOT":
                        self._messages = event["messages"]
                    case "RUN_FINISHED":
                        self.interrupts = event["outcome"].get("interrupts", [])
                    case "RUN_ERROR":
                        raise SystemExit(f"{event['code']}: {event['message']}")
        for result in results:
            print(f"Tool:  {result}")
        if said:
            print(f"Agent: {said}")
        for interrupt in self.interrupts:
            print(f"       [{interrupt['reason']}] {interrupt['message']}")


def approve_a_tool_call(bridge: str) -> None:
    """Approving network tool calls."""
    chat = Chat(bridge, "network")
    chat.say("delete 42")
    chat.answer({"approved": True})


def decline_a_tool_call(bridge: str) -> None:
    """Declining network tool calls."""
    chat = Chat(bridge, "network")
    chat.say("delete 43")
    chat.answer({"approved": False, "reason": "Keep it."})


def resume_a_network(bridge: str) -> None:
    """Resuming suspended networks."""
    chat = Chat(bridge, "network")
    chat.say("Delete the old records")
    chat.answer({"confirmed": True})


def resume_an_agent(bridge: str) -> None:
    """The same tool of a single agent."""
    chat = Chat(bridge, "records")
    chat.say("Delete the old records")
    chat.answer({"confirmed": True})


def auto_resume_of_the_agent(bridge: str) -> None:
    """Automatic resumption, option 1: in the agent's configuration."""
    chat = Chat(bridge, "chatty")
    chat.say("Delete the old records")
    chat.say("Yes, confirmed")


def auto_resume_of_the_request(bridge: str) -> None:
    """Automatic resumption, option 2: per request."""
    chat = Chat(bridge, "on-request", auto_resume=True)
    chat.say("Delete the old records")
    chat.say("Yes, confirmed")


SAMPLES = (
    approve_a_tool_call,
    decline_a_tool_call,
    resume_a_network,
    resume_an_agent,
    auto_resume_of_the_agent,
    auto_resume_of_the_request,
)


def run_samples(bridge: str) -> None:
    """Run them all."""
    for sample in SAMPLES:
        print(f"\n{sample.__doc__}")
        sample(bridge)


if __name__ == "__main__":
    run_samples(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8787")
