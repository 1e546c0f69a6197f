"""CopilotKit's real core in Node, as seen from a test: pages that say, answer, stop and reload."""

import secrets
from typing import Any, Final, Literal

from tests.e2e.clients import Driver
from tests.e2e.lines import Reply
from tests.e2e.target import Target

__all__ = ["PACKAGE", "VERSION", "Page", "Way"]

PACKAGE: Final = "@copilotkit/core"
VERSION: Final = "1.75.0"

Way = Literal["rest", "single", "auto"]
"""`useSingleEndpoint` false, true, and left out."""

Json = dict[str, Any]


class Page:
    """An open tab.

    Attributes:
        agents: The agents that the runtime told of.
        way: The kind of routes that it uses.
        last: What came of its last command.
    """

    def __init__(self, driver: Driver, target: Target, way: Way, thread: str) -> None:
        self._driver, self._target, self._thread = driver, target, thread
        self._name = secrets.token_hex(6)
        opened = self._send(
            "open", url=target.copilotkit, way=way, threadId=thread, agent="target"
        ).result()
        self.agents: list[str] = opened["agents"]
        self.way: str = opened["way"]
        self._view: Json = opened
        self.last: Reply | None = None

    @property
    def messages(self) -> list[Json]:
        """The conversation that it shows."""
        return list(self._view["messages"])

    @property
    def pending(self) -> list[Json]:
        """The questions that it waits for."""
        return list(self._view["pendingInterrupts"])

    @property
    def state(self) -> Json:
        """The state that it shares with the agent."""
        state: Json = self._view["state"]
        return state

    @property
    def refused(self) -> str | None:
        """The code of the last RUN_ERROR, None if there was none in the last command."""
        refusal = self._view["refusal"]
        return None if refusal is None else refusal["code"]

    @property
    def errors(self) -> list[Json]:
        """All that the application was told by `onError`."""
        return list(self._view["errors"])

    # To the end.

    def say(self, text: str) -> "Page":
        """Send a message; the page must then show what the server has."""
        return self._settled(self.begin_say(text))

    def connect(self) -> "Page":
        """Come to the thread, as a page does that was reloaded."""
        return self._settled(self.begin_connect())

    def answer(self, *answers: Json) -> "Page":
        """Answer by `useInterrupt`'s means, with the run id of the question."""
        return self._settled(self.begin_answer(*answers))

    # Begun only.

    def begin_say(self, text: str) -> Reply:
        message = {"id": f"user-{secrets.token_hex(6)}", "role": "user", "content": text}
        return self._begin("run", message=message)

    def begin_connect(self) -> Reply:
        return self._begin("connect")

    def begin_answer(self, *answers: Json) -> Reply:
        assert self.last is not None
        [run_id] = {e["runId"] for e in self.last.events if e["type"] == "RUN_STARTED"}
        return self._begin("answer", answers=list(answers), runId=run_id)

    def share(self, state: Json) -> None:
        """Set the state that the page shares with the agent."""
        self._view = self._send("state", state=state).result()

    def stop(self) -> None:
        """Press the stop button."""
        self._send("stop").result()

    def take(self, reply: Reply) -> "Page":
        """Wait for the end of what was begun, and see what the page shows then."""
        self._view = reply.result()
        assert not self._view["isRunning"]
        return self

    def agrees(self) -> None:
        """Assert that the page shows what the server has, nothing twice."""
        assert self.messages == self._target.thread(self._thread).get("messages", [])

    def _settled(self, reply: Reply) -> "Page":
        self.take(reply).agrees()
        return self

    def _begin(self, do: str, **command: Any) -> Reply:
        self.last = self._send(do, **command)
        return self.last

    def _send(self, do: str, **command: Any) -> Reply:
        return self._driver.send(do, page=self._name, **command)
