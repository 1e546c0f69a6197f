"""What a check works with: fresh threads on one endpoint, and a count of what was executed."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from agui_bridge.conformance.config import Config, Executions, filled
from agui_bridge.conformance.exchange import (
    Answer,
    Event,
    open_run,
    post_run,
    run_input,
    shown_call,
)
from agui_bridge.conformance.verdicts import Blocked, Inapplicable, Need, expect, require
from agui_bridge.errors import AgentMistake, ConfigurationError
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault
from agui_bridge.protocol.threads.history import History

# --- what an endpoint's own question offers, and the answers that follow from it ---


def edited_schema(interrupt: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of `editedArgs` in a responseSchema; None if edits are not offered."""
    schema = interrupt.get("responseSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = properties.get("editedArgs") if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else None


def proposed_arguments(
    interrupt: Mapping[str, Any], answers: Sequence[Answer], messages: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """The arguments of the call that an interrupt asks about; None if nothing shows them.

    Args:
        interrupt: of a pause.
        answers: of its thread, which stream the call.
        messages: the client's, which hold the call where no answer streamed it.
    """
    call = interrupt.get("toolCallId")
    streamed = [args for answer in answers if (args := answer.arguments(call)) is not None]
    if streamed:
        return streamed[-1]
    shown = shown_call(messages, call)
    return shown and shown[1]


def edit(arguments: dict[str, Any], marker: str, approval: Any) -> dict[str, Any] | None:
    """An approval with other arguments: `{marker}-edited` wherever the marker was.

    Args:
        arguments: as they were proposed.
        marker: of the thread.
        approval: the payload of a plain approval.

    Returns:
        None if the marker is in none of them, so that an edit could not be told apart.
    """
    edited = _marked(arguments, marker)
    return None if edited == arguments else _with(approval, edited)


def bad_edits(
    interrupt: Mapping[str, Any], arguments: dict[str, Any], approval: Any
) -> list[dict[str, Any]]:
    """Edits that the interrupt's own schema forbids: no object, and without what is required."""
    schema = interrupt.get("responseSchema")
    if not isinstance(schema, dict):
        return []
    less = [{k: v for k, v in arguments.items() if k != left_out} for left_out in arguments]
    wrong = [{key: {"not": ["this"]} for key in arguments}]
    candidates = [_with(approval, args) for args in ("all", *less, *wrong)]
    return [payload for payload in candidates if forbids(schema, payload)]


def forbids(schema: Mapping[str, Any], payload: Any) -> bool:
    """Whether a responseSchema is one that can be used, and forbids a payload."""
    try:
        check_schema(schema)
        return find_schema_fault(schema, payload) is not None
    except AgentMistake:
        return False  # The check of schemas tells that this one can't be used.


def _with(approval: Any, arguments: Any) -> dict[str, Any]:
    plain = approval if isinstance(approval, dict) else {"approved": True}
    return {**plain, "editedArgs": arguments}


def _marked(value: Any, marker: str) -> Any:
    if isinstance(value, str):
        return value.replace(marker, f"{marker}-edited")
    if isinstance(value, dict):
        return {key: _marked(item, marker) for key, item in value.items()}
    return [_marked(item, marker) for item in value] if isinstance(value, list) else value


# --- the lab ---

UNRELATED: Final = "What is the weather?"
"""A message that is no answer to anything."""


@dataclass(frozen=True)
class Offer:
    """What an endpoint was found to offer, where the configuration does not say.

    Attributes:
        capabilities: where they are read; empty if that was not found.
        edits: whether the responseSchema of its approval has `editedArgs`.
        found: all that was found out, for the report.
    """

    capabilities: str = ""
    edits: bool = False
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lab:
    """One endpoint under test.

    Attributes:
        config: as it was given.
        client: for every request.
        url: of the endpoint.
        second_url: of another process on the same store, if any.
        names: what `{name}` stands for in the configuration, such as `folder`.
        restart: restarts the server, if that is possible.
        offer: what the endpoint itself was found to offer.
        exchanges: what was sent and came back so far; each check has its own list.
    """

    config: Config
    client: httpx.AsyncClient
    url: str
    second_url: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    restart: Callable[[], Awaitable[None]] | None = None
    offer: Offer = Offer()
    exchanges: list[Answer] = field(default_factory=list)

    def lacks(self, need: Need) -> str | None:
        """Why a check that needs something can't be run here; None if it can.

        Args:
            need: one of those that a check may name.
        """
        if need == "restart" and self.restart is None:
            return "the server is not started by the kit, and the configuration has no restart"
        if need == "second" and not self.second_url:
            return "the configuration has no second_url, and no second of server.ports"
        if (key := self.config.lacks(need)) is None:
            return None
        if need == "edits":
            missing = "and its approvals were found to offer no edits"
            return None if self.offer.edits else f"the configuration has no {key}, {missing}"
        if need == "capabilities":
            missing = f"and {self.url}/capabilities tells none"
            found = self.offer.capabilities
            return None if found else f"the configuration has no {key}, {missing}"
        return f"the configuration has no {key}"

    def thread(self) -> Thread:
        """A thread that the endpoint has never heard of."""
        marker = f"m{uuid.uuid4().hex[:16]}"
        return Thread(self, f"thread-{marker}", marker)

    async def paused(
        self, need: Need = "approval", count: int = 1, thread: Thread | None = None
    ) -> Thread:
        """A thread whose agent was made to ask.

        Args:
            need: whose prompt is sent.
            count: how many questions it has to ask.
            thread: the thread; None is a fresh one.

        Raises:
            Blocked: it did not ask so many.
        """
        thread = thread or self.thread()
        answer = await thread.say(need)
        thread.asked = [i for i in answer.interrupts if isinstance(i.get("id"), str)]
        thread.shown = thread.history.messages
        require(
            len(thread.asked) == count,
            f"prompts.{need} was to raise {count} interrupt(s); it raised {len(thread.asked)} "
            f"({answer.told()}){asked_otherwise(answer)}",
        )
        return thread

    async def get(self, url: str) -> httpx.Response:
        """Read something of the server, as the principal of this run.

        Args:
            url: may hold the names of this run in braces, such as `{folder}`.
        """
        return await self.client.get(filled(url, **self.names), headers=self.config.headers)


class Thread:
    """One thread, and a client of it that keeps its messages as AG-UI's own client does.

    Attributes:
        id: the thread's.
        marker: stands in every prompt and so in the arguments of the tools.
        history: what the client has.
        answers: what came back, one for each input.
        asked: the interrupts of the question that a check has had raised, each with an id.
        shown: the client's messages at that time; who sends them knows of no answer since.
    """

    def __init__(self, lab: Lab, thread: str, marker: str) -> None:
        self.lab = lab
        self.id = thread
        self.marker = marker
        self.history: History = History()
        self.answers: list[Answer] = []
        self.asked: list[Event] = []
        self.shown: list[Event] = []

    def input(self, *, text: str | None = None, **members: Any) -> dict[str, Any]:
        """The next input: what the client has, a new user message, and other members."""
        if text is not None:
            self.history.add({"id": str(uuid.uuid4()), "role": "user", "content": text})
        return run_input(self.id, members.pop("messages", self.history.messages), **members)

    def prompt(self, need: Need) -> str:
        """The user message for what a check needs."""
        text: str = filled(getattr(self.lab.config.prompts, need), marker=self.marker)
        return text

    def payload(self, name: str) -> Any:
        """A payload of the configuration's `answers`, any JSON, by its name there.

        Edits that it does not have are made from the arguments that were proposed.

        Raises:
            Inapplicable: they can't be.
        """
        given = filled(getattr(self.lab.config.answers, name), marker=self.marker)
        if given or name not in ("edit", "bad_edits"):
            return given
        arguments = proposed_arguments(self.asked[0], self.answers, self.shown)
        if arguments is None:
            raise Inapplicable(f"answers.{name} is not set, and nothing shows what to edit")
        approval = self.payload("approve")
        if name == "bad_edits":
            return bad_edits(self.asked[0], arguments, approval)
        made = edit(arguments, self.marker, approval)
        if made is None:
            raise Inapplicable(f"answers.edit is not set, and {arguments} have no marker to edit")
        return made

    async def write(self, text: str) -> Answer:
        """Send a message of the user's."""
        return await self.send(self.input(text=text))

    async def say(self, need: Need, *, url: str = "", **members: Any) -> Answer:
        """Send the prompt for what a check needs.

        Raises:
            Blocked: what was to be answered with text made a new thread's agent ask.
        """
        fresh = not self.answers
        answer = await self.send(self.input(text=self.prompt(need), **members), url=url)
        if need == "text" and fresh and answer.outcome == "interrupt":
            # The prompt is wrong; a check of versions, say, would be told as failed.
            raise Blocked(f"prompts.text was to raise no question; it ended with {answer.told()}")
        return answer

    async def resume(
        self,
        *entries: Mapping[str, Any],
        url: str = "",
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> Answer:
        """Answer interrupts, each with an entry as `entry` makes it; the rest as for `send`."""
        return await self.send(
            self.input(resume=list(entries), **members), url=url, headers=headers
        )

    async def send(
        self, body: Any, *, url: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send an input as it is, and take in what comes back.

        Args:
            body: JSON, or bytes that are sent as they are.
            url: of another process than the first.
            headers: instead of the configuration's.
        """
        given = self.lab.config.headers if headers is None else headers
        answer = await post_run(self.lab.client, url or self.lab.url, body, given)
        self.take_in(answer)
        return answer

    @asynccontextmanager
    async def open(
        self, body: Mapping[str, Any]
    ) -> AsyncIterator[tuple[Answer, AsyncIterator[bytes]]]:
        """Begin a run; leaving the block closes the connection.

        Raises:
            ClientError: the connection can't be made, or breaks.
        """
        lab = self.lab
        async with open_run(lab.client, lab.url, body, lab.config.headers) as opened:
            yield opened

    def take_in(self, answer: Answer) -> None:
        """Fold what an answer holds into the client's messages."""
        self.answers.append(answer)
        self.lab.exchanges.append(answer)
        for event in answer.events:
            try:
                self.history.apply(event)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # The check of the events' types tells of it.

    def entry(self, how: str, interrupt: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A resume entry.

        Args:
            how: `cancel`, or the name of one of the configuration's `answers`.
            interrupt: which one; by default the only one that was asked.
        """
        meant = self.asked[0] if interrupt is None else interrupt
        if how == "cancel":
            return {"interruptId": meant["id"], "status": "cancelled"}
        return _resolved(meant, self.payload(how))

    def entries(self, how: str) -> list[dict[str, Any]]:
        """Resume entries that answer everything that was asked, alike; `how` as for `entry`."""
        return [self.entry(how, interrupt) for interrupt in self.asked]

    async def answer(self, how: str, **members: Any) -> Answer:
        """Answer everything that was asked, alike; `how` as for `entry`."""
        return await self.resume(*self.entries(how), **members)

    async def answer_with(self, payload: Any) -> Answer:
        """Answer the only question with a payload; `...` is none at all."""
        return await self.resume(_resolved(self.asked[0], payload))

    async def executed(self, marker: str = "") -> list[str]:
        """The executions of this thread so far, after the time that one may take to be seen.

        Args:
            marker: what stands in their arguments; by default the thread's own.

        Returns:
            The line or value that tells of each.

        Raises:
            Blocked: nothing counts them.
        """
        await asyncio.sleep(self.lab.config.settle)
        source = self.lab.config.executions
        if source is None:
            raise Blocked("the configuration does not say how executions are counted")
        return await executed(source, marker or self.marker, self.lab.client, **self.lab.names)

    async def expect_no_execution(self, seen: str, marker: str = "") -> None:
        """Fail the check if anything was executed so far.

        Raises:
            Failed: it was; `seen` says what that means.
            Blocked: nothing counts executions.
        """
        executed = await self.executed(marker)
        expect(not executed, f"{seen}: {executed}")

    async def expect_one_execution(self, told: str = "") -> str:
        """Fail the check unless there was exactly one execution so far.

        Returns:
            The line that tells of it.

        Raises:
            Failed: there were more, or none; `told` says how the run ended.
            Blocked: nothing counts executions.
        """
        executed = await self.executed()
        expect(len(executed) == 1, f"executed {len(executed)} times" + (told and f": {told}"))
        return executed[0]

    async def expect_no_second_execution(self) -> list[str]:
        """Fail the check if there was more than one execution so far.

        Returns:
            The line that tells of it, if there was one.

        Raises:
            Failed: there were more.
            Blocked: nothing counts executions.
        """
        executed = await self.executed()
        expect(len(executed) <= 1, f"executed {len(executed)} times")
        return executed


_SWITCHES: Final[Mapping[str, str]] = {
    "on_interrupt": "ag-ui-langgraph asks so, unless the agent is made with "
    "LangGraphAgent(emit_interrupt_outcome=True)"
}
"""By the name of a CUSTOM event that tells a question: how its framework tells an interrupt."""


def asked_otherwise(answer: Answer) -> str:
    """What came in the place of interrupts, for people."""
    if not answer.custom:
        return ""
    named = ", ".join(answer.custom)
    switches = [_SWITCHES[name] for name in answer.custom if name in _SWITCHES]
    return "; ".join([f"; CUSTOM {named} came instead", *switches])


def _resolved(interrupt: Mapping[str, Any], payload: Any) -> dict[str, Any]:
    """The entry that answers an interrupt; one without `payload` if that is `...`."""
    entry = {"interruptId": interrupt["id"], "status": "resolved"}
    return entry if payload is ... else {**entry, "payload": payload}


async def executed(
    source: Executions, marker: str, client: httpx.AsyncClient, **names: str
) -> list[str]:
    """Every execution that a marker stands in, each as the line or value that tells of it.

    Args:
        source: where to look.
        marker: of the thread.
        client: for a URL.
        names: what else is replaced, such as `folder`.

    Raises:
        ConfigurationError: the URL or the command fails.
    """
    if source.file is not None:
        text = await asyncio.to_thread(_read_file, Path(filled(str(source.file), **names)))
        return [line for line in text.splitlines() if marker in line]
    if source.url is not None:
        url = filled(source.url, marker=marker, **names)
        try:
            response = await client.get(url)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ConfigurationError(f"executions.url fails: {error}") from None
        return _read(response.text, marker)
    command = filled(source.command or (), marker=marker, **names)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise ConfigurationError(f"executions.command ends with code {process.returncode}.")
    return _read(output.decode(errors="replace"), marker)


def _read_file(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _read(text: str, marker: str) -> list[str]:
    """A JSON number, a JSON list, or lines."""
    try:
        value = json.loads(text)
    except ValueError:
        return [line for line in text.splitlines() if marker in line]
    if isinstance(value, int):
        return [marker] * value
    items = value if isinstance(value, list) else [value]
    return [line for line in map(json.dumps, items) if marker in line]
