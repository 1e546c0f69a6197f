"""Requirements that Agno waits for, as questions; and decisions, as what it wants of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agno.run.agent import RunOutput
from agno.run.requirement import RunRequirement
from agno.run.team import TeamRunOutput
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    DECLINE,
    DECLINED,
    Answer,
    Approve,
    Cancel,
    Decision,
    Decline,
)
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_agno.content import result_text
from agui_bridge_agno.guard import AGNO

Kind = Literal["confirmation", "input", "form", "feedback", "external", "frontend"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call that waits for a person or the application.

    Attributes:
        call: the tool call's id.
        requirement: the id of Agno's requirement.
        kind: what is waited for: an approval, arguments of the tool, the fields that a model asks
            for by `get_user_input`, choices of `ask_user`, or the call's result.
        tool: the tool.
        args: the arguments that the model gave.
        run: the run of the member that called it; None of the agent's own.
        member: name of the member.
    """

    call: str
    requirement: str
    kind: Kind
    tool: str
    args: dict[str, Json]
    run: str | None
    member: str | None

    def result(self, decision: Decision) -> str | None:
        """What stands for the call's result; None where the tool is to run."""
        if not isinstance(decision, Answer):
            return None if isinstance(decision, Approve) else decision.text
        payload: Any = decision.payload
        match self.kind:
            case "form":
                told = [{"name": name, "value": value} for name, value in payload.items()]
                return f"User inputs retrieved: {result_text(told)}"
            case "feedback":
                told = [{"question": asked, "selected": found} for asked, found in payload.items()]
                return f"User feedback received: {result_text(told)}"
            case "external":
                return result_text(payload)
            case _:
                return None

    def decided(self, decision: Decision) -> Decision | None:
        """What the gate is to know of a decision: who gives the arguments lets the tool run."""
        if self.kind == "confirmation":
            return decision
        if self.kind == "input" and isinstance(decision, Answer):
            given: Any = decision.payload
            args = {**self.args, **given}
            return Approve(args, edited=True, actor=decision.actor)
        return None


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while calls wait.

    Attributes:
        output: Agno's run.
        is_team: whether it is a team's.
        waiting: the calls.
        agno: the version that wrote it.
        actor: who began the run.
        members: the members at work, see `Members`.
        open: ids of the calls by which those were asked that wait.
        given: ids of its messages that are the application's instructions.
        examples: ids of those that the agent's author gave it.
        late: what people said that the model has not been told yet.
        delegated: see `Guard`.
    """

    output: Any
    is_team: bool
    waiting: list[Waiting]
    agno: str
    actor: str
    members: Any
    open: list[str]
    given: list[str]
    examples: list[str]
    late: list[Any]
    delegated: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**{**kept, "waiting": [Waiting(**one) for one in kept["waiting"]]})

    def to_json(self) -> Json:
        """Write a continuation."""
        return asdict(self)

    def decided(self, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
        """What the gate is to know, by tool call id."""
        found = {one.call: one.decided(decisions[one.call]) for one in self._asked(decisions)}
        return {call: decision for call, decision in found.items() if decision is not None}

    def results(
        self, decisions: Mapping[str, Decision], handed: Mapping[str, Json]
    ) -> dict[str, str]:
        """What stands for results of the calls that are not to run, by tool call id.

        Args:
            decisions: by tool call id.
            handed: what the application gave back, by tool call id.
        """
        found: dict[str, str] = {}
        for one in self.waiting:
            if one.kind == "frontend":
                if one.call in handed:
                    given = handed[one.call]
                    is_parts = isinstance(given, list)
                    found[one.call] = text_of(given) if is_parts else result_text(given)
            elif (text := one.result(decisions[one.call])) is not None:
                found[one.call] = text
        return found

    def refused(self, why: object) -> NotDelivered:
        """What is raised where nothing was done with the answers, which can be given again."""
        return NotDelivered(
            f"This run was paused by {AGNO} {self.agno} and can't go on with {AGNO} "
            f"{installed_version(AGNO)} and the agent as it is now: {why}"
        )

    def _asked(self, decisions: Mapping[str, Decision]) -> Iterable[Waiting]:
        return (one for one in self.waiting if one.call in decisions)


def waiting_of(requirement: RunRequirement, frontend: Iterable[str]) -> Waiting:
    """What a requirement waits for.

    Args:
        requirement: Agno's.
        frontend: names of the tools that the application carries out.
    """
    tool: Any = requirement.tool_execution
    kind: Kind = "confirmation"
    if tool.tool_name == "ask_user" and tool.user_feedback_schema:
        kind = "feedback"
    elif tool.tool_name == "get_user_input" and tool.requires_user_input:
        kind = "form"
    elif tool.requires_user_input:
        kind = "input"
    elif tool.external_execution_required:
        is_theirs = tool.tool_name in frontend and requirement.member_run_id is None
        kind = "frontend" if is_theirs else "external"
    return Waiting(
        call=str(tool.tool_call_id),
        requirement=requirement.id,
        kind=kind,
        tool=str(tool.tool_name),
        args=dict(tool.tool_args or {}),
        run=requirement.member_run_id,
        member=requirement.member_agent_name,
    )


def ask_of(
    waiting: Waiting,
    requirement: RunRequirement,
    asked: Ask | None,
    parameters: Mapping[str, Json] | None,
    subagent: str | None,
) -> Ask:
    """The question about a call.

    Args:
        waiting: the call.
        requirement: Agno's.
        asked: the gate's question about it, if it was the gate that asked.
        parameters: the tool's JSON Schema, where it is known.
        subagent: the sub-agent that asks.
    """
    own, tool = waiting.call, waiting.tool
    if waiting.kind == "confirmation":
        if asked is not None:
            return replace(asked, subagent_run_id=subagent)
        call = ToolCall(own, tool, waiting.args)
        return Ask(
            own, "tool_call", tool_call=call, parameters=parameters, subagent_run_id=subagent
        )
    fields: Any = requirement.user_input_schema or ()
    reason, message = "input_required", f"{tool} needs your input."
    schema: dict[str, Json] | None = _form(fields)
    if waiting.kind == "feedback":
        questions: Any = requirement.user_feedback_schema or ()
        reason, schema = "agno:user_feedback", _choices(questions)
        message = "\n".join(one.question for one in questions)
    elif waiting.kind == "external":
        reason, schema = "agno:external_execution", None
        message = f"{tool} is carried out elsewhere: what is its result?"
    elif waiting.kind == "form":
        message = "\n".join(one.description for one in fields if one.description) or message
    properties: Any = (schema or {}).get("properties") or ()
    can_decline = DECLINED not in properties
    about: dict[str, Json] = {"toolName": tool, "args": waiting.args}
    return Ask(
        own,
        reason,
        message,
        about=own,
        response_schema=schema,
        allowed=(ANSWER, DECLINE) if can_decline else None,
        subagent_run_id=subagent,
        metadata=about,
    )


def restore(
    kept: Continuation, decisions: Mapping[str, Decision], handed: Mapping[str, Json]
) -> RunOutput | TeamRunOutput:
    """The run to go on with; calls that were approved with other arguments have these.

    Args:
        kept: what was kept.
        decisions: by tool call id.
        handed: what the application gave back, by tool call id.

    Raises:
        NotDelivered: the installed Agno can't read it. Nothing was done, and the answer can be
            given again.
    """
    try:
        kind: Any = TeamRunOutput if kept.is_team else RunOutput
        # It takes the dict apart.
        output: Any = kind.from_dict(json.loads(json.dumps(kept.output)))
        by_id = {one.id: one for one in output.requirements or ()}
        waiting = [(one, by_id[one.requirement]) for one in kept.waiting]
    except Exception as error:
        raise kept.refused(error) from error
    results, decided = kept.results(decisions, handed), kept.decided(decisions)
    for one, requirement in waiting:
        tool: Any = requirement.tool_execution
        approved = decided.get(one.call)
        if one.call in results:
            _tell(requirement, results[one.call], decisions.get(one.call))
        elif isinstance(approved, Approve):
            tool.tool_args = dict(approved.args)
            for one_field in tool.user_input_schema or ():
                one_field.value = approved.args.get(one_field.name)
            if one.kind == "confirmation":
                requirement.confirm()
            else:
                tool.answered = True
            if approved.edited:
                _edit(output, one.call, approved.args)
    _relink(output)
    restored: RunOutput | TeamRunOutput = output
    return restored


def held_back(output: Any, calls: Collection[str]) -> Callable[[], None]:
    """Take calls out of a run that wait on, for Agno would not go on beside them.

    Args:
        output: the run.
        calls: ids of these calls.

    Returns:
        What puts them back, so that the run waits for them again.
    """
    tools, requirements = list(output.tools or ()), list(output.requirements or ())
    held = [one for one in tools if one.tool_call_id in calls]
    wanted = [one for one in requirements if one.tool_execution.tool_call_id in calls]
    output.tools = [one for one in tools if one not in held]
    output.requirements = [one for one in requirements if one not in wanted]

    def put_back() -> None:
        output.tools = [*(output.tools or ()), *held]
        output.requirements = [*(output.requirements or ()), *wanted]
        held.clear()
        wanted.clear()

    return put_back


def _tell(requirement: Any, text: str, decision: Decision | None) -> None:
    """Have a text stand for a call's result; its tool does not run.

    As a result from elsewhere: of a rejected requirement with fields Agno runs the tool, and for a
    rejected confirmation it wants the tool to be there still.
    """
    tool = requirement.tool_execution
    tool.requires_confirmation = tool.requires_user_input = None
    tool.user_input_schema = tool.user_feedback_schema = None
    requirement.user_input_schema = requirement.user_feedback_schema = None
    tool.external_execution_required = True
    tool.tool_call_error = True if isinstance(decision, Decline | Cancel) else None
    requirement.set_external_execution_result(text)


def _edit(output: Any, call_id: str, args: Mapping[str, Json]) -> None:
    """Have the model read as its call what ran."""
    runs = [output, *_member_runs(output)]
    for message in (message for run in runs for message in run.messages or ()):
        for call in message.tool_calls or ():
            if call.get("id") == call_id:
                call["function"] = {**call["function"], "arguments": json.dumps(args)}


def _relink(output: Any) -> None:
    """Have runs hold the very executions that requirements do.

    After a round trip they are two objects, and Agno reads the one that nobody decided about: an
    approval would be taken for a refusal.
    """
    decided = {
        one.tool_execution.tool_call_id: one.tool_execution for one in output.requirements or ()
    }
    for run in (output, *_member_runs(output)):
        run.tools = [decided.get(tool.tool_call_id, tool) for tool in run.tools or ()]


def _member_runs(output: Any) -> list[Any]:
    members = getattr(output, "member_responses", None) or ()
    return [run for member in members for run in (member, *_member_runs(member))]


def _form(fields: Iterable[Any]) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for one in fields:
        made = _schema_of(one.field_type)
        if one.description:
            made["description"] = one.description
        if one.value is None:
            required.append(one.name)
        else:
            made["default"] = one.value
        properties[one.name] = made
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _schema_of(kind: Any) -> dict[str, Json]:
    """The JSON Schema of a Python type; any value where it has none of its own."""
    try:
        made: dict[str, Json] = TypeAdapter(kind).json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError):
        return {}
    # What stands apart from it can't be referred to from here.
    return {} if "$defs" in made else made


def _choices(questions: Iterable[Any]) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    for one in questions:
        labels: list[Json] = [option.label for option in one.options or ()]
        item: dict[str, Json] = {"type": "string"}
        if labels:
            item["enum"] = labels
        made: dict[str, Json] = {"type": "array", "items": item, "minItems": 1}
        if not one.multi_select:
            made["maxItems"] = 1
        if one.header:
            made["title"] = one.header
        properties[one.question] = made
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
