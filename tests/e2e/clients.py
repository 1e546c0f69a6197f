"""Real AG-UI clients in Node, as seen from a test: pages that say, answer and stop."""

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.e2e.lines import HERE, Lines, Reply
from tests.e2e.target import Target
from tests.support import unavailable
from tests.support.streams import check_stream

__all__ = ["PACKAGES", "Driver", "OpenPage", "Page", "Run", "cancelled", "resolved"]

PACKAGES: Final = {"1.0.0": "@ag-ui/client", "0.0.59": "ag-ui-client-0"}
"""The versions that the tests speak with, and the package that each one is installed as."""

Json = dict[str, Any]


def resolved(interrupt: Json, *payload: Any) -> Json:
    """An entry of `resume` that answers; without a payload if none is given."""
    entry = {"interruptId": interrupt["id"], "status": "resolved"}
    return {**entry, "payload": payload[0]} if payload else entry


def cancelled(interrupt: Json) -> Json:
    """An entry of `resume` that cancels."""
    return {"interruptId": interrupt["id"], "status": "cancelled"}


class Driver(Lines):
    """A Node process with one version of a client in it.

    Args:
        version: The client's version.
        package: The package that it is installed as; by default that of `@ag-ui/client`.
        script: What drives it.
        folder: Where its packages are installed.

    Attributes:
        version: The client's version.
    """

    def __init__(
        self,
        version: str,
        package: str | None = None,
        script: str = "client.mjs",
        folder: Path = HERE,
    ) -> None:
        node = shutil.which("node")
        if node is None:
            unavailable("Node.js", "install version 20 or later")
        package = package or PACKAGES[version]
        if not (folder / "node_modules" / package / "package.json").exists():
            unavailable(f"{package} {version}", "`make e2e` installs it, or npm ci does")
        super().__init__([node, script, package])
        self.version = version


class Run:
    """One runAgent of a page. Everything but `until` waits for its end."""

    def __init__(self, page: "Page", run_id: str, reply: Reply) -> None:
        self.page = page
        self.id = run_id
        self._reply = reply

    def until(self, kind: str, count: int = 1) -> "Run":
        """Wait until the application has seen that many events of a type."""
        self._reply.until(kind, count)
        return self

    def end(self) -> "Run":
        """Wait until the client's promise is settled."""
        result = self._reply.result()
        assert result["rejected"] is None, result["rejected"]
        return self

    @property
    def request(self) -> Json:
        """The body that the client sent."""
        request: Json = self._reply.result()["request"]
        return request

    @property
    def wire(self) -> list[Json]:
        """The events as the server sent them."""
        text = self._reply.result()["wire"]
        assert "\r" not in text, "the clients take LF only"
        blocks = text.split("\n\n")
        return [json.loads(block[6:]) for block in blocks if block.startswith("data: ")]

    @property
    def kinds(self) -> list[str]:
        """The types of the events that the server sent."""
        return [event["type"] for event in self.wire]

    @property
    def text(self) -> str:
        """The text that was streamed in this run."""
        return "".join(e["delta"] for e in self.wire if e["type"] == "TEXT_MESSAGE_CONTENT")

    @property
    def results(self) -> list[tuple[str, str]]:
        """The tool results of this run: tool call id and content."""
        return [
            (event["toolCallId"], event["content"])
            for event in self.wire
            if event["type"] == "TOOL_CALL_RESULT"
        ]

    @property
    def refused(self) -> str | None:
        """The code of the error that the application was told, None if there was none."""
        refusal = self._reply.result()["refusal"]
        return refusal["code"] if refusal is not None else None

    @property
    def outcome(self) -> str | None:
        """The outcome that the application was told: success, interrupt or cancelled."""
        ending = self._reply.result()["ending"]
        return ending["outcome"] if ending is not None else None

    @property
    def stop_reason(self) -> str | None:
        """`result.stopReason` on the wire."""
        reason: str | None = (self.wire[-1].get("result") or {}).get("stopReason")
        return reason

    def check(self, *, cut_off: bool) -> None:
        """Assert that what the server sent is a valid stream of this very run."""
        events = self.wire
        if cut_off and not events:
            return
        ends = [event for event in events if event["type"] in ("RUN_STARTED", "RUN_FINISHED")]
        assert {(e["threadId"], e["runId"]) for e in ends} == {(self.page.thread, self.id)}
        assert events[0].get("protocolVersion") == "1.0", events[0]
        restated = self.kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"]
        check_stream(events, refused=restated, cut_off=cut_off)
        if restated:
            allowed = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
            assert self.kinds[:-2] in (allowed, allowed[:1]), self.kinds


class Page:
    """An HttpAgent, as an open tab has one.

    Attributes:
        thread: The thread's id.
        target: The server that it speaks with.
        runs: All its runs, the last one last.
    """

    def __init__(self, driver: Driver, target: Target, thread: str, **view: Any) -> None:
        self.thread = thread
        self.target = target
        self.runs: list[Run] = []
        self._driver = driver
        self._name = secrets.token_hex(6)
        self._aborted: set[str] = set()
        view = {"url": target.url, **view}
        self._view = self._send("open", threadId=thread, **view).result()

    @property
    def messages(self) -> list[Json]:
        """The messages that the client has, since its last run ended."""
        return list(self._view["messages"])

    @property
    def state(self) -> Any:
        """The state that the client has."""
        return self._view["state"]

    @property
    def pending(self) -> list[Json]:
        """The interrupts that the client waits for."""
        return list(self._view["pendingInterrupts"])

    @property
    def last_text(self) -> str:
        """What the last message says."""
        content: str = self.messages[-1]["content"]
        return content

    # To the end.

    def say(self, text: str) -> Run:
        """Send a message and wait for the end; the client must then have what the server has."""
        return self._settled(self.begin_say(text))

    def answer(self, *entries: Json) -> Run:
        """Resume and wait for the end; the client must then have what the server has."""
        return self._settled(self.begin_answer(*entries))

    def rerun(self) -> Run:
        """Run on the messages as they are, and wait for the end, as above."""
        return self._settled(self.begin_again())

    def come_back(self) -> Run:
        """Be shown the thread, and what runs on it to its end, as above."""
        return self._settled(self.begin_to_come_back())

    # Begun only.

    def begin_say(self, text: str) -> Run:
        """Send a message."""
        message = {"id": f"user-{secrets.token_hex(6)}", "role": "user", "content": text}
        return self._begin(message=message)

    def begin_answer(self, *entries: Json) -> Run:
        """Resume."""
        return self._begin(resume=list(entries))

    def begin_again(self) -> Run:
        """Run on the messages as they are."""
        return self._begin()

    def begin_to_come_back(self) -> Run:
        """Be shown the thread, and what runs on it."""
        return self._begin(connect=True)

    def abort(self) -> Run:
        """Close the connection of the last run, as a stop button does; wait for its end."""
        run = self.runs[-1]
        self._aborted.add(run.id)
        self._send("abort").result()
        return self.take(run)

    def take(self, run: Run) -> Run:
        """Wait for the end of a run that was begun, and see what the client has then."""
        run.end()
        self._view = run._reply.result()
        return run

    def rewrite(self, messages: Sequence[Json]) -> None:
        """Replace the client's messages, as going back does."""
        self._view = self._send("rewrite", messages=list(messages)).result()

    # Judgements.

    def agrees(self) -> None:
        """Assert that the client has what the server tells whoever reloads."""
        thread = self.target.thread(self.thread)
        assert self.messages == thread["messages"]
        assert self.state == thread["state"]

    def close(self) -> None:
        """Judge every stream of the page, and drop it."""
        for run in self.runs:
            run.check(cut_off=run.id in self._aborted)
        self._send("close").result()

    def _settled(self, run: Run) -> Run:
        self.take(run)
        self.agrees()
        return run

    def _begin(self, **parameters: Any) -> Run:
        run_id = f"run-{secrets.token_hex(6)}"
        run = Run(self, run_id, self._send("run", runId=run_id, **parameters))
        self.runs.append(run)
        return run

    def _send(self, do: str, **command: Any) -> Reply:
        return self._driver.send(do, page=self._name, **command)


OpenPage = Callable[..., Page]
"""Opens a page on the test's thread; takes messages, state and pendingInterrupts to begin with."""
