"""What a server tells of a task, made into text, activities, and where the task stands.

The same is told in several ways: as a stream's updates, and as the whole task to who looks at it
again. What clients have had is not told twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from ag_ui.core import ActivitySnapshotEvent, TextMessageContentEvent

from agui_bridge.a2a.wire import ASKS, ENDS, as_object, as_objects, as_text
from agui_bridge.adapters import Run, RunItem
from agui_bridge.protocol.threads.records import Json
from agui_bridge_a2a.continuation import Told, digest_of
from agui_bridge_a2a.versions import Event

_LONGEST_FILE: Final = 256 * 1024
"""Characters of a file's bytes that are told; of a longer one only its name and size are."""

_ACTIVITY: Final = "a2a:parts"


class Reader:
    """One task, or one answer without a task.

    Args:
        run: the bridge's run.
        told: what clients had of the task before.
        asked: names what it asked when it was last looked at, None for a new one.

    Attributes:
        task: its id, "" until it is known.
        context: of the conversation, "" until it is known.
        state: where it stands, "" until it is known.
        status: all of that, with the message that says what is asked.
        answered: whether a message came in place of a task: all is said.
        sent: ids of the user's messages that the task has.
    """

    def __init__(self, run: Run, told: Told, asked: str | None = None) -> None:
        self.told: Told = told
        self.task: str = ""
        self.context: str = ""
        self.state: str = ""
        self.status: Mapping[str, Any] = {}
        self.answered: bool = False
        self.sent: set[str] = set()
        self._asked = asked
        self._mint = run.mint
        self._texts: dict[str, str] = {}
        self._others: dict[str, list[Mapping[str, Json]]] = {}
        self._activities: dict[str, str] = {}
        self._speaker: str | None = None
        self._message = ""

    @property
    def question(self) -> str:
        """Names what the task asks: the same one has the same name."""
        said = as_object(self.status.get("message"))
        return digest_of(as_text(said.get("messageId")) or dict(self.status))

    @property
    def settled(self) -> bool:
        """Whether it has come to an end, or asks what it did not ask before."""
        if self.answered or self.state in ENDS:
            return True
        return self.state in ASKS and self.question != self._asked

    def take(self, event: Event) -> Iterator[RunItem]:
        """Take what the server tells next; gives what is new to clients."""
        body = event.body
        match event.kind:
            case "message":
                self.context = as_text(body.get("contextId")) or self.context
                self.answered = True
                yield from self._said(body)
            case "task":
                self._named(as_text(body.get("id")), body)
                for message in as_objects(body.get("history")):
                    yield from self._heard(message)
                for artifact in as_objects(body.get("artifacts")):
                    yield from self._artifact(artifact, append=False)
                yield from self._stands(as_object(body.get("status")))
            case "statusUpdate":
                self._named(as_text(body.get("taskId")), body)
                yield from self._stands(as_object(body.get("status")))
            case "artifactUpdate":
                self._named(as_text(body.get("taskId")), body)
                append = body.get("append") is True
                yield from self._artifact(as_object(body.get("artifact")), append=append)

    def _named(self, task: str, body: Mapping[str, Any]) -> None:
        self.task = task or self.task
        self.context = as_text(body.get("contextId")) or self.context

    def _heard(self, message: Mapping[str, Any]) -> Iterator[RunItem]:
        """A message of the task's history; one that belongs to another task is none of it."""
        if message.get("role") != "ROLE_AGENT":
            self.sent.add(as_text(message.get("messageId")))
        elif message.get("taskId", self.task) == self.task:
            yield from self._said(message)

    def _stands(self, status: Mapping[str, Any]) -> Iterator[RunItem]:
        self.status, self.state = status, as_text(status.get("state"))
        message = status.get("message")
        if not isinstance(message, Mapping):
            return
        if self.state in ASKS:
            # It is told as the question.
            self.told.is_new(message)
        else:
            yield from self._said(message)

    def _said(self, message: Mapping[str, Any]) -> Iterator[RunItem]:
        if not self.told.is_new(message):
            return
        name = self._mint()
        parts = as_objects(message.get("parts"))
        if text := text_of(parts):
            yield self._text(name, text)
        if others := others_of(parts):
            yield self._activity(name, {"parts": others})

    def _artifact(self, artifact: Mapping[str, Any], *, append: bool) -> Iterator[RunItem]:
        name = digest_of(artifact.get("artifactId"))
        parts = as_objects(artifact.get("parts"))
        before = (self._texts.get(name, ""), self._others.get(name, [])) if append else ("", [])
        text, others = before[0] + text_of(parts), [*before[1], *others_of(parts)]
        if append and name not in self._texts and name in self.told.texts:
            # The rest of one of which an earlier run told the beginning: here it begins anew.
            self.told.texts.pop(name)
        self._texts[name], self._others[name] = text, others
        rest, goes_on = self.told.rest_of(name, text)
        if rest:
            if not goes_on:
                self._speaker = None
            yield self._text(name, rest)
        digest = digest_of(others)
        if others and self.told.others.get(name) != digest:
            self.told.others[name] = digest
            about = {key: artifact[key] for key in ("name", "description") if artifact.get(key)}
            yield self._activity(name, {**about, "parts": others})

    def _text(self, speaker: str, text: str) -> RunItem:
        """Text of a message or an artifact, each in a message of its own."""
        if self._speaker != speaker:
            self._speaker, self._message = speaker, self._mint()
        return TextMessageContentEvent(message_id=self._message, delta=text)

    def _activity(self, name: str, content: dict[str, Json]) -> RunItem:
        self._speaker = None
        message = self._activities.setdefault(name, self._mint())
        return ActivitySnapshotEvent(message_id=message, activity_type=_ACTIVITY, content=content)


def text_of(parts: list[Mapping[str, Any]]) -> str:
    """The text of parts, one behind the other."""
    return "".join(as_text(part.get("text")) for part in parts)


def others_of(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Json]]:
    """The data and the files of parts; a file's address only where a browser may open it."""
    told: list[Mapping[str, Json]] = []
    for part in parts:
        if "data" in part:
            told.append({"type": "data", "data": part["data"]})
        elif "raw" in part or "url" in part:
            named = {"name": part.get("filename"), "mediaType": part.get("mediaType")}
            about: dict[str, Json] = {k: v for k, v in named.items() if isinstance(v, str) and v}
            raw, url = as_text(part.get("raw")), as_text(part.get("url"))
            if url and _is_web(url):
                about["url"] = url
            elif raw and len(raw) <= _LONGEST_FILE:
                about["bytes"] = raw
            elif raw:
                about["size"] = len(raw) * 3 // 4
            told.append({"type": "file", **about})
    return told


def _is_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False
