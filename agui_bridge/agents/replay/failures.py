"""Failures of an agent's own code that are the same at the first run and at every replay."""

from __future__ import annotations

from agui_bridge.agents.replay.continuation import EntryKey, Failure
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.threads.records import Json

__all__ = ["FrontendToolError", "ResultWithoutJson", "StepFailed", "as_exception"]


class ResultWithoutJson(AgentMistake):
    """A function did what it is for, and what it returned can't be remembered or told."""


class StepFailed(AgentMistake):
    """A function that `run.step`, `stream`, `call` or `tool` carried out raised an exception.

    It is this type at the first run and at every replay, so that an `except` takes the same
    path each time. `__cause__` is the original at the first run and None at a replay: decide
    by `error`. When nobody catches it at the first run, the run fails with the original; at a
    replay the original is gone, and the run fails with this: the client reads a bare
    AGENT_ERROR, for `text` is the original's and not meant for the wire.

    Attributes:
        call: the call, such as `run.step('count')`.
        error: name of the original exception's type.
        text: the original exception's text.
    """

    def __init__(self, call: str, error: str, text: str) -> None:
        """Make the exception; `of` makes it from a journal's entry."""
        super().__init__(f"{call} failed: {error}: {text}")
        self.call = call
        self.error = error
        self.text = text

    @classmethod
    def of(cls, entry: EntryKey, failure: Failure) -> StepFailed:
        """Make the exception from the journal's entry.

        Args:
            entry: where the failure stands in the journal.
            failure: what stands there.
        """
        return cls(str(entry), failure.error, failure.text)


class FrontendToolError(StepFailed):
    """The application says that it could not carry its tool out: `error` of its tool message.

    Attributes:
        call: the call, such as `run.frontend_tool('take_photo')`.
        error: "FrontendToolError".
        text: what the application says of it.
        content: what it returned all the same: a str, or content parts; mostly "".
    """

    def __init__(self, call: str, text: str, content: Json = "") -> None:
        """Make the exception."""
        super().__init__(call, type(self).__name__, text)
        self.content = content


def as_exception(error: BaseException) -> Exception:
    """Make sys.exit() and its like in an agent's code a failure that ends one run only.

    Raised out of a task, SystemExit and KeyboardInterrupt would end the event loop, and the
    server with it.

    Returns:
        The exception itself if it is an ordinary one, else an AgentMistake caused by it.
    """
    if isinstance(error, Exception):
        return error
    kind = type(error).__name__
    what = "called sys.exit()" if isinstance(error, SystemExit) else f"raised {kind}"
    mistake = AgentMistake(
        f"The agent's code {what}: {kind}({str(error)!r}). It can end its own run by returning "
        "or by raising an Exception, never the server."
    )
    mistake.__cause__ = error
    return mistake
