"""Questions of workflows, tools and the gate as a pause; and what a run goes on from.

The continuation holds LlamaIndex's own context. A step that waited for people is written into it as
one that has not begun: it runs from its top, and finds its answer there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pydantic_core import to_jsonable_python
from workflows import Workflow
from workflows.events import Event, HumanResponseEvent

from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import ANSWER, DECLINE, Answer, Decision
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_llama_index.guard import AGAIN, OURS, Question
from agui_bridge_llama_index.held import WORKFLOWS

_MESSAGES: Final = ("prefix", "message", "question", "prompt", "msg")
_SCHEMAS: Final = ("response_schema", "schema")
_WORK: Final = (
    *("event", "bound_events", "scope_path", "collection_release_payload", "work_item_id"),
)
"""What LlamaIndex keeps alike of a step that waits and of one that is to begin."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while people are asked.

    Attributes:
        context: LlamaIndex's.
        memory: the messages of the agent's memory, which the context leaves out.
        calls: the calls of the agent that have no result yet: by id, the id that the model gave,
            the tool and the arguments.
        entered: arguments of those whose tools have begun and ask something, by id.
        frontend: ids of those that the application carries out.
        answered: answers that steps which wait have been given before, by id of the question.
        steps: fields of the events that ask and are answered by another event, by id.
        version: of LlamaIndex's workflows, that wrote it.
        actor: who began the run.
        late: what people said that the model has not been told yet.
        rounds: what calls asked in their middle.
    """

    context: Any
    memory: str | None
    calls: dict[str, Any]
    entered: dict[str, dict[str, Json]]
    frontend: list[str]
    answered: dict[str, Json]
    steps: dict[str, dict[str, Json]]
    version: str
    actor: str
    late: list[Any] = field(default_factory=list)
    rounds: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**kept)

    def to_json(self) -> Json:
        """Write a continuation."""
        made: Json = to_jsonable_python(asdict(self))
        return made

    def refused(self, why: object) -> NotDelivered:
        """What is raised where nothing was done with the answers, which can be given again."""
        return NotDelivered(
            f"This run was paused by {WORKFLOWS} {self.version} and can't go on with {WORKFLOWS} "
            f"{installed_version(WORKFLOWS)} and the workflow as it is now: {why}"
        )

    def known(self) -> dict[str, tuple[str, ToolCall]]:
        """The calls by id, each with the id that its model gave it."""
        return {
            own: (one["native"], ToolCall(own, one["tool"], one["args"]))
            for own, one in self.calls.items()
        }

    def events(self, decisions: Mapping[str, Decision], kind: type[Event]) -> list[Event]:
        """What answers the events that ask.

        Args:
            decisions: by id of the question.
            kind: type of the answers.
        """
        made = []
        for own, fields in self.steps.items():
            decision = decisions.get(own)
            if isinstance(decision, Answer):
                members = decision.payload if isinstance(decision.payload, dict) else {}
                made.append(kind(**{**fields, "response": decision.payload, **members}))
        return made


def resting(context: Any) -> Any:
    """A context in which the steps that wait for the bridge have not begun.

    Args:
        context: what `Context.to_dict` gave; it is changed.
    """
    for worker in context["workers"].values():
        waiters = worker["collected_waiters"]
        worker["collected_waiters"] = [w for w in waiters if not w["waiter_id"].startswith(OURS)]
        for one in waiters:
            # Of a step that was begun twice nothing is left but the first time.
            if one["waiter_id"].startswith(OURS) and not one["waiter_id"].startswith(AGAIN):
                kept = {name: one[name] for name in _WORK if one.get(name) is not None}
                worker["queue"].append(kept)
    return context


def answering(workflow: Workflow) -> type[Event]:
    """The type of the events by which a workflow is answered: its own, where there is one alone."""
    steps = workflow._get_steps().values()
    accepted = (event for step in steps for event in step._step_config.accepted_events)
    kinds = {
        event
        for event in accepted
        if isinstance(event, type) and issubclass(event, HumanResponseEvent)
    }
    return kinds.pop() if len(kinds) == 1 else HumanResponseEvent


def fields_of(event: Event) -> dict[str, Json]:
    """What an event has, as JSON: the fields of its class, and what else it was given."""
    declared = {name: getattr(event, name) for name in type(event).model_fields}
    found: dict[str, Json] = to_jsonable_python({**declared, **event.to_dict()}, fallback=str)
    return found


def question_of(question: Question) -> Ask:
    """What a tool or a step that waits asks."""
    return asked_by(
        question.id,
        fields_of(question.asked),
        question.answer,
        given=question.given,
        about=question.call,
        expires_in=question.expires_in,
    )


def asked_by(
    own: str,
    fields: Mapping[str, Json],
    kind: type[Event],
    *,
    given: Mapping[str, Any] | None = None,
    about: str | None = None,
    expires_in: float | None = None,
) -> Ask:
    """The question that an event asks.

    Args:
        own: its id.
        fields: what the event has.
        kind: type of the event that answers.
        given: what that one must have besides.
        about: id of the call whose tool asks.
        expires_in: see `Ask`.
    """
    texts = (fields.get(name) for name in _MESSAGES)
    schemas = (fields.get(name) for name in _SCHEMAS)
    schema = next((one for one in schemas if isinstance(one, Mapping)), None)
    return Ask(
        own,
        "input_required",
        next((text for text in texts if isinstance(text, str) and text), None),
        about=about,
        response_schema=schema or _schema_of(kind, {*fields, *(given or ())}),
        allowed=(ANSWER, DECLINE),
        expires_in=expires_in,
        metadata={name: value for name, value in fields.items() if name not in _SCHEMAS} or None,
    )


def _schema_of(kind: type[Event], given: set[str]) -> Mapping[str, Json] | None:
    """The schema of the fields that an answer declares and the question does not give."""
    fields = [name for name in kind.model_fields if name not in given]
    if not fields:
        return None
    schema: dict[str, Any] = kind.model_json_schema()
    properties = {name: schema["properties"][name] for name in fields}
    needed = [name for name in schema.get("required", ()) if name in properties]
    return {**schema, "properties": properties, "required": needed}
