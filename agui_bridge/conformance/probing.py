"""Finds out what an endpoint offers where its configuration does not say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from agui_bridge.conformance.lab import Lab, Offer, Thread
from agui_bridge.conformance.offers import edited_schema
from agui_bridge.conformance.verdicts import Blocked
from agui_bridge.conformance.wire import Answer, asks_about_a_call

__all__ = ["find_offer"]


async def find_offer(lab: Lab) -> Offer:
    """Read capabilities if they are served beside the endpoint, and look at one question of it.

    One thread is used, whose question is cancelled afterwards: nothing is approved.

    Args:
        lab: whose endpoint answers.
    """
    found: list[str] = []
    capabilities = ""
    if lab.config.capabilities is None:
        url = str(
            httpx.URL(lab.url).copy_with(path=f"{httpx.URL(lab.url).path.rstrip('/')}/capabilities")
        )
        told = await _read_capabilities(lab, url)
        capabilities = url if told is not None else ""
        human = told.get("humanInTheLoop") if told else None
        found.append(
            f"capabilities: GET {url} tells none"
            if told is None
            else f"capabilities: GET {url}, humanInTheLoop is {human!r}"
        )
    thread = lab.thread()
    try:
        async with asyncio.timeout(lab.config.timeout):
            answer = await thread.say("approval")
            thread.asked = [i for i in answer.interrupts if isinstance(i.get("id"), str)]
            if thread.asked:
                await thread.answer("cancel")
    except (TimeoutError, Blocked):
        return Offer(capabilities, False, (*found, "its approval: no answer in time"))
    found += _seen_in(thread, answer)
    edits = bool(thread.asked) and edited_schema(thread.asked[0]) is not None
    if edits and lab.config.answers.edit is None:
        found.append("edits: offered (editedArgs in the responseSchema), made from the arguments")
    return Offer(capabilities, edits, tuple(found))


async def _read_capabilities(lab: Lab, url: str) -> Mapping[str, Any] | None:
    try:
        response = await lab.get(url)
        told = response.json() if response.status_code == 200 else None
    except (httpx.HTTPError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _seen_in(thread: Thread, answer: Answer) -> Iterator[str]:
    versions = [str(event.get("protocolVersion", "none")) for event in answer.of("RUN_STARTED")]
    yield f"AG-UI version: {versions[-1] if versions else 'no RUN_STARTED'}"
    if not thread.asked:
        yield f"its approval: prompts.approval raised no interrupt, it ended with {answer.told()}"
        return
    asked = thread.asked[0]
    about = "about a tool call" if asks_about_a_call(asked) else "without a tool call"
    schema = "with" if isinstance(asked.get("responseSchema"), dict) else "without"
    expiry = "with" if "expiresAt" in asked else "without"
    yield (
        f"its approval: {about}, reason {asked.get('reason')!r}, {schema} responseSchema, "
        f"{expiry} expiresAt"
    )
