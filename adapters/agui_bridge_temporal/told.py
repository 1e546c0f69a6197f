"""What a workflow tells and asks, as its query gives it; and which workflow it is of a thread."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agui_bridge.adapters import Ask, Pause, Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from agui_bridge.protocol.threads.records import Json, ToolCall

_WORKFLOWS: Final = uuid.UUID("5b0f2c5e-6f0b-5a55-8a4c-2f6d9c1f7a11")
"""Names the space of the workflows' ids."""

_TEXT: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1, "title": "Your answer"}},
}


class Gone(UpstreamError):
    """The workflow waits for this answer no more, and was not given it."""

    code = "INTERRUPT_EXPIRED"


class Refused(UpstreamError):
    """Temporal, or the workflow, did not take it."""


class Unknown(UpstreamError):
    """Temporal may have had it, and did not say what came of it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What Temporal knows of the workflow of a thread.

    Attributes:
        run: id of its latest run.
        first: id of the first run of the same execution; a workflow that continues as new, or is
            tried again, has further runs.
        status: of that run: `running`, `completed`, `failed`, `cancelled`, `terminated` or
            `timed out`.
    """

    run: str
    first: str
    status: str

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.status == "running"


@dataclass(frozen=True, slots=True)
class State:
    """What a workflow tells and asks.

    Attributes:
        run: id of the run that tells it.
        told: what it has told from an offset on.
        more: whether there is more.
        open: what it asks.
        decided: how its questions were decided, by their ids.
        listens: whether it waits for the next message.
    """

    run: str
    told: Sequence[Mapping[str, Json]]
    more: bool
    open: Sequence[Mapping[str, Json]]
    decided: Mapping[str, Json]
    listens: bool

    @property
    def never(self) -> set[str]:
        """Ids of its questions that nobody approves any more."""
        return {id for id, status in self.decided.items() if status not in ("approved", "answered")}

    @classmethod
    def from_json(cls, told: Json) -> State:
        """Read what the query gave.

        Raises:
            UpstreamError: it is nothing of the kind.
        """
        try:
            return cls(
                str(told["run"]),
                [dict(one) for one in told["told"]],
                bool(told.get("more")),
                [{**one, "id": str(one["id"])} for one in told["open"]],
                dict(told.get("decided") or {}),
                bool(told.get("listens")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UpstreamError("What the workflow tells can't be read.") from error


@dataclass(frozen=True, slots=True)
class Place:
    """How far a thread has heard its workflow.

    Attributes:
        first: id of the first run of the execution, "" while it is not known.
        run: id of the run that was heard last.
        offset: how much of what that has told was heard.
        before: id of the first run of the execution that ran before it, while its own is unknown.
    """

    first: str = ""
    run: str = ""
    offset: int = 0
    before: str = ""

    def at(self, run: str) -> Place:
        """The same, for what a run tells: another one begins anew to tell and to ask."""
        return self if run == self.run else Place(self.first, run)

    def having_heard(self, state: State) -> Place:
        """The same once all of what was told was heard."""
        return replace(self, offset=self.offset + len(state.told))

    def to_json(self) -> dict[str, Json]:
        """As a run leaves it, and a pause keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Json) -> Place:
        """From what `to_json` gave."""
        return cls(**kept)


@dataclass(frozen=True, slots=True)
class Asked:
    """A pause that waits for people, as it keeps itself.

    Attributes:
        place: of the workflow that asks.
        questions: the ids of what it asks, each with the id of the tool call that it is about; None
            for a question about none.
    """

    place: Place
    questions: Mapping[str, str | None]

    @property
    def update(self) -> str:
        """The id of the update that answers: the same question is answered by the same one."""
        return "answer " + " ".join(self.questions)

    def calls_of(self, questions: Collection[str]) -> list[str]:
        """The ids of the calls that some of its questions are about."""
        return [call for id, call in self.questions.items() if call is not None and id in questions]

    def to_json(self) -> dict[str, Json]:
        """As the pause keeps it."""
        return {"place": self.place.to_json(), "questions": dict(self.questions)}

    @classmethod
    def from_json(cls, kept: Json) -> Asked:
        """From what `to_json` gave."""
        return cls(Place.from_json(kept["place"]), kept["questions"])


def pause_of(place: Place, questions: Sequence[Mapping[str, Json]], run: Run) -> Pause:
    """The pause that asks what a workflow asks.

    Args:
        place: of the workflow, with the questions among what was asked.
        questions: as its query gives them.
        run: the run that ends with it.

    Raises:
        UpstreamError: a question can't be read.
    """
    ids, asks, calls = run.call_ids(), list[Ask](), dict[str, str | None]()
    for question in questions:
        id, message = question["id"], question.get("message")
        more: dict[str, Any] = {"expires_at": question.get("expiresAt")}
        calls[id] = None
        if (tool := question.get("tool")) is None:
            schema = question.get("schema")
            more |= {"message": message, "response_schema": _TEXT if schema is None else schema}
            asks.append(Ask(id, **more))
            continue
        args = question.get("args")
        if not isinstance(tool, str) or not isinstance(args, Mapping):
            raise UpstreamError("The workflow asks for an approval without a tool and its args.")
        calls[id] = call = ids.new(f"{tool}:{id}")
        more |= {"message": message or None, "parameters": question.get("parameters")}
        asks.append(Ask(id, "tool_call", tool_call=ToolCall(call, tool, args), **more))
    return Pause(asks, Asked(place, calls).to_json())


def answer_of(decision: Decision) -> dict[str, Json]:
    """An answer as the workflow's update takes it.

    Args:
        decision: what people decided.
    """
    actor = getattr(decision, "actor", "") or None
    match decision:
        case Approve(args=args):
            return {"status": "approved", "args": dict(args), "actor": actor}
        case Decline(reason=reason):
            return {"status": "declined", "reason": reason, "actor": actor}
        case Answer(payload=payload):
            return {"status": "answered", "payload": payload, "actor": actor}
        case Cancel(cause=cause):
            return {"status": cause}
    raise AssertionError(f"{type(decision).__name__} is not declared")


def workflow_of(scope: str, agent: str, thread_id: str) -> str:
    """The id of the workflow of a thread: the same in every process, and no other runs with it."""
    return f"agui-{agent}-{uuid.uuid5(_WORKFLOWS, json.dumps([scope, agent, thread_id]))}"
