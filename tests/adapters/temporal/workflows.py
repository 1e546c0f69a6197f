"""Workflows that do what their message says; what they do is a line of a file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from agui_bridge_temporal.workflow import ConversationWorkflow, Decision

EDITABLE = {"type": "object", "properties": {"version": {"type": "string"}}}
ORDER = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"enum": ["S", "M", "L"]}},
}


@activity.defn
def act(what: Any) -> str:
    """Do something: a line of the file of effects."""
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(json.dumps(what) + "\n")
    return f"did {json.dumps(what)}"


@activity.defn
def is_there(name: str) -> bool:
    """Whether a file lies beside the effects: it stands for a change of the workflow's code."""
    return Path(os.environ["EFFECTS"]).with_name(name).exists()


async def do(what: Any) -> str:
    return await workflow.execute_activity(act, what, start_to_close_timeout=timedelta(seconds=20))


@workflow.defn
class TargetWorkflow(ConversationWorkflow):
    """The first word of the message says what is done, the second one is a version."""

    @workflow.run
    async def run(self, start: dict[str, Any]) -> Any:
        word, _, version = start["message"].partition(" ")
        return await getattr(self, f"_{word}")(version or "v2")

    async def _approved(self, tool: str, args: Mapping[str, Any], **more: Any) -> Decision:
        decision = await self.approve(tool, args, parameters=EDITABLE, **more)
        if decision.approved:
            self.result(decision, await do(dict(decision.args)))
        return decision

    async def _hello(self, version: str) -> Any:
        self.progress(text="greeting")
        self.tell("Hello.")
        return {"greeted": version}

    async def _deploy(self, version: str) -> Any:
        self.tell("I will deploy. ")
        decision = await self._approved("deploy", {"version": version}, message="Deploy it?")
        self.tell("Done." if decision.approved else f"Left as it was: {decision.status}.")
        return decision.status

    async def _brief(self, version: str) -> Any:
        within = timedelta(seconds=1)
        decision = await self._approved("deploy", {"version": version}, within=within)
        self.tell(f"It is {decision.status}.")
        return decision.status

    async def _both(self, version: str) -> None:
        await asyncio.gather(
            self._approved("deploy", {"version": version}),
            self._approved("deploy", {"version": f"{version}-b"}),
        )

    async def _order(self, version: str) -> None:
        decision = await self.ask("Which size?", ORDER)
        if decision.answered:
            await do(decision.payload)

    async def _free(self, version: str) -> None:
        decision = await self.ask("Anything?", {})
        if decision.answered:
            await do(decision.payload)

    async def _twice(self, version: str) -> None:
        await self._approved("deploy", {"version": version})
        await self._approved("pay", {"amount": 5})

    async def _stages(self, version: str) -> None:
        await self._approved("deploy", {"version": version})
        await do({"announced": version})

    async def _beside(self, version: str) -> None:
        await do({"built": version})
        await self._approved("deploy", {"version": version})

    async def _slow(self, version: str) -> None:
        for number in range(200):
            self.tell(f"Part {number}. ")
            await asyncio.sleep(0.3)
        await do({"version": version})

    async def _later(self, version: str) -> None:
        await asyncio.sleep(6)
        await self._approved("deploy", {"version": version})

    async def _fail(self, version: str) -> None:
        self.tell("I try. ")
        raise ApplicationError("a secret of ours")

    async def _limit(self, version: str) -> None:
        await workflow.wait_condition(lambda: False)

    async def _chat(self, version: str) -> str:
        self.tell("What is it?")
        while (said := (await self.message())["message"]) != "bye":
            self.tell(f"You said {said}. ")
        return "bye"

    async def _moves(self, version: str) -> str:
        try:
            await asyncio.wait_for(self.message(), 2)
        except TimeoutError:
            workflow.continue_as_new({"message": "chat"})
        return version

    async def _changed(self, version: str) -> None:
        deletes = await workflow.execute_activity(
            is_there, version, start_to_close_timeout=timedelta(seconds=20)
        )
        await self._approved("delete" if deletes else "note", {"what": version})
        await self._approved("pay", {"amount": 5})

    async def _mixed(self, version: str) -> None:
        soon = timedelta(seconds=2)
        await asyncio.gather(
            self._approved("deploy", {"version": version}, within=soon),
            self._approved("deploy", {"version": f"{version}-b"}),
        )

    async def _lots(self, version: str) -> None:
        for number in range(150):
            self.tell(f"{number:03}" + "x" * 20_000)
        await self._approved("deploy", {"version": version})

    async def _huge(self, version: str) -> str:
        self.tell("x" * 3_000_000)
        await workflow.wait_condition(lambda: version != "stays")
        return "its end"

    async def _odd(self, version: str) -> RawValue:
        self.tell("Hello.")
        unknown = {"encoding": b"json/protobuf", "messageType": b"of.Nobody"}
        return RawValue(Payload(metadata=unknown, data=b"{}"))

    async def _soon(self, version: str) -> None:
        decision = await self.approve("deploy", {"version": version})
        await asyncio.sleep(1.0)
        self.result(decision, await do({"version": version}))
        self.tell("It half failed.")

    async def _again(self, version: str) -> None:
        if version == "v2":
            self.tell("Anew. ")
            workflow.continue_as_new({"message": "again last"})
        await self._approved("deploy", {"version": version})


@workflow.defn
class PlainWorkflow:
    """Knows nothing of bridges."""

    @workflow.run
    async def run(self, start: dict[str, Any]) -> str:
        await asyncio.sleep(0.2)
        return f"{start['message']} is done"


WORKFLOWS = [TargetWorkflow, PlainWorkflow]
ACTIVITIES = [act, is_there]
