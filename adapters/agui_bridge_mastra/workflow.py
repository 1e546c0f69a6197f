"""A workflow's run at Mastra, beside its streams: what it waits for, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_bridge.errors import AdapterError, AgentRefused, NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.http_client import LOST, Chunk, HttpClient, as_mapping
from agui_bridge_mastra.pauses import Waiting, parse_schema
from agui_bridge_mastra.reader import AgentReader

# --- which steps of a workflow's run wait for an answer, as the server lists the run ---
#
# The stream is not enough: of a `foreach` it tells only the first item that waits, of a nested
# workflow every level that holds the step, and after an answer not what still waits.
#
# Which of them can be told of an answer, observed of `@mastra/core` 1.71: a step and, of a
# `foreach` at the top, one item by its index. Within a nested workflow the index is ignored: one
# answer reaches all items that wait. Of a `foreach` over a nested workflow every index reaches the
# first item that waits.

_META: Final = "__workflow_meta"
"""Member of a suspend payload that Mastra adds: where the pause is, and under which run ids."""


@dataclass(frozen=True, slots=True)
class Schemas:
    """JSON Schemas of the answers by step.

    Attributes:
        given: those that count more: a step of a nested workflow is known by its path, with dots
            between, or by its own id.
        definition: the workflow, as the server describes it.
    """

    given: Mapping[str, Mapping[str, Json]]
    definition: Mapping[str, Any]

    def of(self, path: list[str]) -> Mapping[str, Json] | None:
        """That of a step, by the steps that lead to it; None if it has none."""
        name = ".".join(path)
        for known in (name, path[-1]):
            if known in self.given:
                return self.given[known]
        told = as_mapping(self.definition.get("allSteps")).get(name)
        return _unwrapped(as_mapping(told).get("resumeSchema"))


def suspended_steps(run: Mapping[str, Any], schemas: Schemas) -> dict[str, Waiting]:
    """What a run waits for, by key.

    Args:
        run: the run, as the server lists it.
        schemas: of the answers.
    """
    steps = {
        name: step
        for name, step in as_mapping(run.get("steps")).items()
        if isinstance(step, Mapping)
    }
    names = [name for name, step in steps.items() if step.get("status") == "suspended"]
    # A step that holds one that waits does not ask itself.
    innermost = [name for name in names if not any(n.startswith(f"{name}.") for n in names)]
    found = [
        waiting
        for name in innermost
        for waiting in _waiting(_path_of(name, steps), steps[name], schemas)
    ]
    return {waiting.key: waiting for waiting in found}


def _unwrapped(text: Json) -> Mapping[str, Json] | None:
    """A schema out of superjson's envelope."""
    schema = parse_schema(text)
    return parse_schema(schema["json"]) if schema is not None and "json" in schema else schema


def _path_of(name: str, steps: Mapping[str, Any]) -> list[str]:
    """The steps that lead to a step, which are joined by dots in its name; an id may have some."""
    holders = sorted((n for n in steps if name.startswith(f"{n}.")), key=len)
    path, done = [], ""
    for holder in [*holders, name]:
        path.append(holder[len(done) :])
        done = f"{holder}."
    return path


def _waiting(path: list[str], step: Mapping[str, Any], schemas: Schemas) -> Iterator[Waiting]:
    meta = _meta(step)
    items = [
        (index, item)
        for index, item in enumerate(meta.get("foreachOutput") or [])
        if as_mapping(item).get("status") == "suspended"
    ]
    if not items:
        yield _question(path, None, [step], schemas)
    elif len(path) > 1:
        yield _question(path, None, [item for _, item in items], schemas)
    elif any("path" in _meta(item) for _, item in items):
        index, item = items[0]
        yield _question([*path, *_meta(item).get("path", [])], index, [item], schemas)
    else:
        for index, item in items:
            yield _question(path, index, [item], schemas)


def _question(
    path: list[str],
    index: int | None,
    items: list[Mapping[str, Any]],
    schemas: Schemas,
) -> Waiting:
    name = ".".join(path)
    payloads = [_told(item.get("suspendPayload")) for item in items]
    inputs = [item.get("payload") for item in items]
    several = len(items) > 1
    return Waiting(
        key=name if index is None else f"{name}#{index}",
        approval=False,
        call="",
        name=name,
        args={} if several else _as_object(inputs[0]),
        schema=schemas.of(path),
        payload=payloads if several else payloads[0],
        step=path,
        index=index,
        items=inputs if several else [],
    )


def _as_object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {"input": value}


def _meta(step: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(step.get("suspendPayload")).get(_META))


def _told(payload: Json) -> Json:
    """What the step gave to `suspend()`."""
    if not isinstance(payload, Mapping):
        return payload
    return {name: value for name, value in payload.items() if name != _META} or None


logger: Final = logging.getLogger("agui_bridge")

_POLL: Final = 0.2
_LISTED_WITHIN: Final = 10.0
"""Seconds after the end of a stream within which its pause must be in Mastra's storage."""

_NOT_LISTED: Final = (
    "Mastra says that the workflow waits, and does not list what for: see the log of the Mastra "
    "server and its storage."
)


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow.

    Attributes:
        server: where it is.
        workflow: id of the workflow.
        run: id of the run there.
        schemas: JSON Schema of the answer by step, before those that the server tells.
        trace: headers of the trace.
    """

    server: HttpClient
    workflow: str
    run: str
    schemas: Mapping[str, Mapping[str, Json]]
    trace: Mapping[str, str]

    async def waiting(self) -> dict[str, Waiting]:
        """What the run waits for, by key; its stream has told that it does.

        Raises:
            UpstreamError: the server does not say.
        """
        schemas = Schemas(self.schemas, await self._definition())
        for _ in range(int(_LISTED_WITHIN / _POLL)):
            try:
                listed = await self.server.workflow_run(self.workflow, self.run, trace=self.trace)
            except NotDelivered as error:
                raise UpstreamError(str(error)) from error
            if found := suspended_steps(listed, schemas):
                return found
            # A pause is stored a moment after it is told.
            await asyncio.sleep(_POLL)
        raise UpstreamError(_NOT_LISTED)

    async def cancel(self) -> None:
        """Have the run begin no further step, and nobody continue it."""
        try:
            await self.server.cancel_workflow(self.workflow, self.run, trace=self.trace)
        except AdapterError as error:
            logger.warning("Mastra's workflow %r goes on: %s", self.workflow, error)

    async def _definition(self) -> Mapping[str, Json]:
        try:
            return await self.server.workflow(self.workflow, trace=self.trace)
        except AdapterError as error:
            # It only helps people to answer: Mastra checks the answer too, and fails the run.
            logger.warning(
                "the schemas of Mastra's workflow %r are unknown: %s", self.workflow, error
            )
            return {}


# --- reads the records of a workflow's stream ---

_ITEMS_WAIT: Final = (
    "Items of a `foreach` wait for people, though Mastra says that the workflow is through: so it "
    "does of evented workflows. One answer would reach several items, so nobody is asked. Build "
    "the workflow with createWorkflow of @mastra/core/workflows, or ask in a step of its own."
)


@dataclass
class WorkflowReader(AgentReader):
    """Turns a workflow's records into steps.

    Attributes:
        suspended: whether the stream's end tells that steps wait; which ones the server lists.
        stranded: whether it still waits, and nobody can be asked.
    """

    suspended: bool = False
    stranded: bool = False
    _waiting_items: dict[tuple[str, Json], bool] = field(default_factory=dict)

    def chunk_events(self, chunk: Chunk) -> Iterator[BaseEvent]:
        """The events of one record."""
        yield from self.workflow_chunk(chunk, Place())
        if chunk.get("type") == "workflow-step-progress":
            told = as_mapping(chunk.get("payload"))
            item = (str(told.get("id")), told.get("currentIndex"))
            self._waiting_items[item] = told.get("iterationStatus") == "suspended"
        if chunk.get("type") == "workflow-finish":
            self._end(as_mapping(chunk.get("payload")))

    def _end(self, payload: Mapping[str, Any]) -> None:
        status = payload.get("workflowStatus")
        self.suspended = status == "suspended"
        self.finished = not self.suspended
        self.run.usage += self.usage(payload)
        match status:
            case "success" if any(self._waiting_items.values()):
                self.stranded = True
                raise UpstreamError(_ITEMS_WAIT)
            case "success":
                self.run.result = payload.get("finalWorkflowResult")
            case "failed":
                said = str(as_mapping(payload.get("metadata")).get("errorMessage"))
                lost = "not suspended" in said or "No snapshot" in said
                raise UpstreamError(LOST if lost else "The workflow failed in Mastra: see its log.")
            case "tripwire":
                # Written for who asked, unlike the text of an error.
                reason = as_mapping(payload.get("tripwire")).get("reason") or "it gave no reason"
                raise AgentRefused(f"A guard of the workflow would not go on: {reason}")
            case "canceled" if not self.run.stop.requested:
                raise UpstreamError("The workflow was cancelled at Mastra, not by the bridge.")
