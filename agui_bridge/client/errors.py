"""What can go wrong between a client and an AG-UI endpoint.

::

    ClientError
    ├── NotReached      no connection: the server has seen nothing of it
    ├── HttpError       an answer that is no stream of events
    ├── BrokenStream    the stream broke off, or holds what is no AG-UI
    ├── RunFailed       the run ended with RUN_ERROR
    └── AnswerFault     an answer that the questions do not allow; nothing was sent
"""

from __future__ import annotations

from agui_bridge.errors import BridgeError

__all__ = ["AnswerFault", "BrokenStream", "ClientError", "HttpError", "NotReached", "RunFailed"]


class ClientError(BridgeError):
    """Base of what a client raises."""


class NotReached(ClientError):
    """There was no connection: the server has seen nothing, so that it can be sent again."""


class HttpError(ClientError):
    """The endpoint answered with something else than a stream of events.

    Args:
        message: what it answered, for people.

    Attributes:
        status: the HTTP status.
        code: the error's code where the body has one, as agui-bridge's bodies do, else None.
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class BrokenStream(ClientError):
    """The stream broke off before the end of the run, or holds what is no AG-UI event.

    Whether the run goes on is unknown: what it did can be read from the next one's snapshots.
    """


class RunFailed(ClientError):
    """The run ended with RUN_ERROR.

    Attributes:
        code: the producer's, or None; agui-bridge's are in docs/errors.md.
        message: the producer's.
    """

    def __init__(self, code: str | None, message: str) -> None:
        super().__init__(message if code is None else f"{code}: {message}")
        self.code = code
        self.message = message


class AnswerFault(ClientError):
    """Answers do not fit the open questions. Nothing was sent and nothing changed.

    Args:
        message: what is wrong with them, for people.

    Attributes:
        code: the code that agui-bridge would refuse them with, a key of `errors.CODES`.
        interrupt_ids: the interrupts concerned.
    """

    def __init__(self, code: str, message: str, interrupt_ids: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.interrupt_ids = interrupt_ids
