"""Recorded streams with chunks lost, doubled, out of place or of a new name."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.docs.pages import Conversation
from tests.servers.mastra.agent_scenarios import AGENTS
from tests.servers.mastra.recording import RECORDINGS
from tests.support.examples import few_or_many

Chunks = list[dict[str, Any]]

_ENDS: Final = frozenset(
    {
        "finish",
        "error",
        "tripwire",
        "tool-call-approval",
        "tool-call-suspended",
        "tool-execution-approval",
        "tool-execution-suspended",
        "agent-execution-approval",
        "agent-execution-suspended",
        "workflow-execution-suspended",
        "network-execution-event-finish",
    }
)
"""What ends a stream, if nothing else does."""

_SPEECH: Final = ("text-", "reasoning-", "-delta")
"""In the types of chunks that tell nothing of what became of a call."""


def lose(chunks: Chunks, at: int, _: random.Random) -> Chunks:
    return chunks[:at] + chunks[at + 1 :]


def double(chunks: Chunks, at: int, chance: random.Random) -> Chunks:
    again = chance.randrange(at, len(chunks)) + 1
    return [*chunks[:again], chunks[at], *chunks[again:]]


def move(chunks: Chunks, at: int, chance: random.Random) -> Chunks:
    left = lose(chunks, at, chance)
    to = chance.randrange(len(left) + 1)
    return [*left[:to], chunks[at], *left[to:]]


def rename(chunks: Chunks, at: int, _: random.Random) -> Chunks:
    return [*chunks[:at], {**chunks[at], "type": "from-the-future"}, *chunks[at + 1 :]]


def empty(chunks: Chunks, at: int, _: random.Random) -> Chunks:
    return [*chunks[:at], {**chunks[at], "payload": {}}, *chunks[at + 1 :]]


def twist(chunks: Chunks, at: int, _: random.Random) -> Chunks:
    payload = chunks[at].get("payload")
    twisted = {name: [None] for name in payload} if isinstance(payload, dict) else "text"
    return [*chunks[:at], {**chunks[at], "payload": twisted}, *chunks[at + 1 :]]


WAYS: Final[tuple[Callable[[Chunks, int, random.Random], Chunks], ...]] = (
    lose, double, move, rename, empty, twist,
)  # fmt: skip


class Disordered(httpx.AsyncBaseTransport):
    """A server that says what a recording has, one of its streams in disorder.

    Attributes:
        posted: what the requests that start or continue a run tell the server.
        keeps_end: whether that stream still has all that can end it.
        keeps_results: whether it tells of calls as it did.
    """

    def __init__(self, name: str, stream: int, chance: random.Random) -> None:
        kept = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
        self._streams = [
            [
                json.loads(part.removeprefix("data: "))
                for part in exchange["said"]
                if part.startswith("data: {")
            ]
            for exchange in kept["exchanges"]
            if exchange["contentType"].startswith("text/event-stream")
        ]
        self.posted: list[str] = []
        before = self._streams[stream % len(self._streams)]
        after = before
        for _ in range(chance.randint(1, 3)):
            way = chance.choice(WAYS)
            after = way(after, chance.randrange(len(after)), chance) if after else after
        self._streams[stream % len(self._streams)] = after
        ends = [chunk for chunk in before if chunk["type"] in _ENDS]
        self.keeps_end: bool = bool(ends) and all(chunk in after for chunk in ends)
        self.keeps_results: bool = _without_speech(before) == _without_speech(after)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"runs": [], "messages": [], "threadExists": False})
        if request.url.path.startswith("/api/memory"):
            return httpx.Response(200, json={"success": True})
        self.posted.append(verb_of(request))
        assert self._streams, f"one request too many: {self.posted}"
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in self._streams.pop(0)]
        content = "".join([*lines, "data: [DONE]\n\n"])
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, content=content)


def _without_speech(chunks: Chunks) -> Chunks:
    return [c for c in chunks if not any(part in c["type"] for part in _SPEECH)]


@few_or_many(3, 60)
@pytest.mark.parametrize("name", AGENTS)
async def test_disorder_ends_no_run_and_decides_nothing(name: str, examples: int) -> None:
    scenario = AGENTS[name]
    for number in range(examples):
        chance = random.Random(f"{name} {number}")
        server = Disordered(name, number, chance)
        await carry_out(scenario.agent, scenario, server, f"{name} {number}")


async def carry_out(agent: str, scenario: Any, server: Disordered, case: str) -> None:
    async with httpx.AsyncClient(transport=server) as client:
        adapter = MastraAdapter(
            "http://mastra.test",
            agent,
            kind=scenario.kind,
            resume_network_path="/x/agents/{agent}/resume-network",
            client=client,
            **scenario.options,
        )
        bridge = Bridge()
        bridge.add("agent", adapter)
        async with bridge.lifespan():
            talk = Conversation(bridge, "agent")
            for turn in scenario.turns:
                before = len(server.posted)
                if isinstance(turn, str):
                    await talk.say(turn)
                    allowed = ["stream", "network"]
                elif len(talk.asks) == len(turn):
                    await talk.answer(*turn)
                    allowed = [verb for answer in turn for verb in verbs(answer)]
                else:
                    return
                check(talk, server, case)
                # Each request was the person's: their message, or one for each of their answers.
                posted = server.posted[before:]
                assert len(posted) <= (1 if isinstance(turn, str) else len(turn)), case
                assert set(posted) <= set(allowed), case


def check(talk: Conversation, server: Disordered, case: str) -> None:
    """Whether a run ended as one does whose agent only said odd things."""
    last = talk.events[-1]
    code = last.get("code")
    broken = ("UPSTREAM_ERROR", "RUN_INDETERMINATE")
    assert code in (None, *broken, "AGENT_REFUSED", "INVALID_RESUME_PAYLOAD"), (case, last)
    if code in broken and "without a result of" in last["message"]:
        assert not server.keeps_results, (case, last)
    elif code in broken and "failed in Mastra" not in last["message"]:
        assert not server.keeps_end, (case, last)


def verb_of(request: httpx.Request) -> str:
    """What a request tells the server: its route, or what it says of a call that needs a yes."""
    route, body = request.url.path.rpartition("/")[2], json.loads(request.content)
    data = body.get("resumeData")
    if route == "resume-stream" and isinstance(data, dict) and "approved" in data:
        return "approve" if data["approved"] else "decline"
    return route.removesuffix("-network-tool-call")


def verbs(answer: Any) -> list[str]:
    """What Mastra may be told of an answer."""
    if answer is None or answer.get("approved") is False:
        return ["decline", "resume-stream"]
    return ["approve"] if answer.get("approved") else ["resume-stream", "resume-network"]
