"""What a workflow tells and asks, as its query gives it; and which workflow it is of a thread."""

from __future__ import annotations

import hashlib
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


class Lost(Gone):
    """Temporal knows the workflow no more, or runs another one for the thread."""


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
        shown: by the ids of its questions, what people were shown: an answer is for that alone.
    """

    place: Place
    questions: Mapping[str, str | None]
    shown: Mapping[str, Mapping[str, Json]]

    @property
    def update(self) -> str:
        """The id of the update that answers: the same question is answered by the same one.

        After a reset another question may have its id, while Temporal has the old answer still.
        """
        shown = json.dumps(self.shown, sort_keys=True)
        digest = hashlib.sha256(shown.encode()).hexdigest()[:16]
        return f"answer {' '.join(self.questions)} {digest}"

    def waits_in(self, state: State) -> set[str]:
        """The ids of its questions that a workflow still asks, as they were shown."""
        asked = {one["id"]: _shown_of(one) for one in state.open if state.run == self.place.run}
        return {id for id, shown in self.shown.items() if asked.get(id) == shown}

    def calls_of(self, questions: Collection[str]) -> list[str]:
        """The ids of the calls that some of its questions are about."""
        return [call for id, call in self.questions.items() if call is not None and id in questions]

    def to_json(self) -> dict[str, Json]:
        """As the pause keeps it."""
        shown = {id: dict(one) for id, one in self.shown.items()}
        return {"place": self.place.to_json(), "questions": dict(self.questions), "shown": shown}

    @classmethod
    def from_json(cls, kept: Json) -> Asked:
        """From what `to_json` gave."""
        return cls(Place.from_json(kept["place"]), kept["questions"], kept.get("shown") or {})


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
    shown = {question["id"]: _shown_of(question) for question in questions}
    return Pause(asks, Asked(place, calls, shown).to_json())


def _shown_of(question: Mapping[str, Json]) -> dict[str, Json]:
    names = ("message", "schema") if question.get("tool") is None else ("tool", "args")
    return {name: question.get(name) for name in names}


def answer_of(decision: Decision, shown: Mapping[str, Json]) -> dict[str, Json]:
    """An answer as the workflow's update takes it.

    Args:
        decision: what people decided.
        shown: what was shown to them.
    """
    return {**_decided(decision), "asked": dict(shown)}


def same(stands: Json, sent: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether the answers that stand are those that were sent; some languages leave nulls out."""
    return isinstance(stands, Mapping) and _essence(stands) == _essence(sent)


def _essence(answers: Mapping[str, Json]) -> Mapping[str, Json]:
    return {
        id: {name: value for name, value in answer.items() if value is not None and name != "asked"}
        for id, answer in answers.items()
        if isinstance(answer, Mapping)
    }


def _decided(decision: Decision) -> dict[str, Json]:
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


def workflow_of(scope: str, agent: str, thread_id: str, prefix: str = "agui") -> str:
    """The id of the workflow of a thread: the same in every process, and no other runs with it."""
    return f"{prefix}-{agent}-{uuid.uuid5(_WORKFLOWS, json.dumps([scope, agent, thread_id]))}"
