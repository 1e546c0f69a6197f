"""The workflows of the tests: what the first word of a message says.

Each execution of a step that acts is a line of the file of effects.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any, Literal

from ag_ui.core import StateSnapshotEvent
from dbos import DBOS
from pydantic import BaseModel

from agui_bridge_dbos import Reply, approve, approve_async, ask, ask_async, say, say_async

EFFECTS: list[Path] = []
"""Where effects are noted; a process has one."""


class Order(BaseModel):
    """What is ordered."""

    size: Literal["S", "M", "L"]


def _note(effect: Any) -> None:
    with EFFECTS[0].open("a") as file:
        file.write(json.dumps(effect) + "\n")


@DBOS.step()
async def deploy(version: str) -> str:
    """Deploy a version; it takes a moment."""
    _note({"version": version})
    await asyncio.sleep(0.2)
    return "deployed"


@DBOS.step()
async def die() -> str:
    """Act, and end the process: the first time."""
    died = EFFECTS[0].parent / "died"
    if not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    _note({"died": "once"})
    return "lived"


@DBOS.step()
async def note(effect: Any) -> None:
    """Note what was answered."""
    _note(effect)


async def _remind() -> None:
    await asyncio.sleep(0.3)
    await say_async("It still waits. ")


async def _two() -> str:
    asked = ask_async("Which size?"), ask_async("Which colour?")
    return "; ".join(
        str(told.payload if isinstance(told, Reply) else told)
        for told in await asyncio.gather(*asked, return_exceptions=True)
    )


async def _deploy(version: str, expires_in: float | None = None) -> None:
    call = {"version": version}
    reply = await approve_async("deploy", call, parameters=deploy, expires_in=expires_in)
    if reply.approved:
        await say_async(await deploy(**reply.args), of=reply)


@DBOS.workflow(name="target", max_recovery_attempts=2)
async def target(text: str) -> Any:
    """Do what was said."""
    name, _, version = text.partition(" ")
    version = version or "v2"
    match name:
        case "deploy":
            await _deploy(version)
        case "brief":
            await _deploy(version, expires_in=2.0)
        case "order":
            reply = await ask_async("Which size?", Order)
            if reply.answered:
                await note(reply.payload)
        case "free":
            reply = await ask_async("Anything?", {})
            if reply.answered:
                await note(reply.payload)
        case "twice":
            await _deploy("v1")
            second = await approve_async("pay", {"amount": 5})
            if second.approved:
                await note(dict(second.args))
        case "both":
            first = await approve_async("pay", {"amount": 5})
            await approve_async("send", {"to": "Ann"})
            await say_async("It is paid. ", of=first)
        case "remind":
            await asyncio.gather(_deploy(version), _remind())
        case "two":
            return await _two()
        case "soon":
            await DBOS.sleep_async(2)
            await say_async("It is checked.")
            size = await ask_async("Which size?")
            return f"It is {size.payload}."
        case "slow":
            for number in range(100):
                await say_async(f"Part {number}. ")
                await DBOS.sleep_async(0.3)
            await _deploy(version)
        case "later":
            await DBOS.sleep_async(6)
            await _deploy(version)
        case "die":
            await die()
        case "fail":
            raise ValueError("a secret")
        case "count":
            await say_async(StateSnapshotEvent(snapshot={"counted": 3}))
            return {"counted": 3}
        case "silent":
            await DBOS.sleep_async(600)
        case _:
            await say_async("Hello.")
            return {"greeted": True}
    return "Done."


@DBOS.workflow(name="plain")
def plain(text: str) -> str:
    """Ask in a thread."""
    say("In a thread. ")
    reply = approve("deploy", {"version": text})
    colour = ask("Which colour?")
    return f"{reply.status} {colour.payload}"
