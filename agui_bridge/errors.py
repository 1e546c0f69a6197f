"""Everything that can go wrong, as one exception tree and one table of stable codes.

::

    BridgeError
    ├── Refused                 the peer erred: its input is refused, nothing changed
    ├── AdapterError            the agent's side erred
    │   ├── NotDelivered          nothing reached the framework: the batch reopens
    │   ├── UpstreamError         a remote server failed
    │   ├── OutcomeUnknown        a remote server took an answer; what it did is unknown
    │   ├── AgentRefused          a guard of the agent would not go on
    │   ├── ProtocolViolation     the adapter broke the event order
    │   └── AgentMistake          a function agent broke its own rules, or its code failed
    │       ├── ReplayMismatch      a replay took another path
    │       ├── AmbiguousKey        two live calls share one journal key
    │       ├── ApprovalSpent       an approval was used a second time
    │       └── StepFailed          a step of its failed
    ├── StoreError              our side erred: the store
    │   ├── Conflict              somebody else changed the thread first
    │   │   ├── Fenced              the lease is over: its owner may write no more
    │   │   └── WritesLost          the store lacks what the owner has written under its lease
    │   ├── StoreUnavailable      no answer, or no connection
    │   │   ├── NotReplicated       it has the write, which a failover may lose
    │   │   └── WritesRefused       it answers, and takes no writes
    │   └── SchemaMismatch        the database is older or newer than this version
    ├── ClientError             talking to an AG-UI endpoint failed
    └── ConfigurationError      a setting, an agent or an adapter is wrong or missing

`CODES` is the only place where a code has its cause, remedy and HTTP status; the
documentation is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "CODES",
    "AdapterError",
    "AgentMistake",
    "AgentRefused",
    "AmbiguousKey",
    "ApprovalSpent",
    "BridgeError",
    "ConfigurationError",
    "Conflict",
    "ErrorCode",
    "Fenced",
    "NotDelivered",
    "NotReplicated",
    "OutcomeUnknown",
    "ProtocolViolation",
    "Refused",
    "ReplayMismatch",
    "SchemaMismatch",
    "StoreError",
    "StoreUnavailable",
    "UpstreamError",
    "WritesLost",
    "WritesRefused",
]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One stable error code.

    Attributes:
        status: the HTTP status when the error is an HTTP answer; errors about a thread are
            RUN_ERROR events in a 200 stream, and there it is only a hint.
        cause: what happened, a sentence for people.
        remedy: what the caller can do about it.
        stream: whether the code travels as RUN_ERROR (else as an HTTP body).
    """

    status: int
    cause: str
    remedy: str
    stream: bool = True


CODES: Mapping[str, ErrorCode] = {
    # --- a resume or a message was refused (contract.md, "Admission") ---
    "INTERRUPT_ALREADY_ANSWERED": ErrorCode(
        409,
        "The interrupt was answered before, with another answer, or a stop has withdrawn it.",
        "Take the outcome that the refusal restates; nothing was executed again.",
    ),
    "INTERRUPT_DUPLICATE": ErrorCode(
        400, "The resume names one interrupt twice.", "Send one entry for each interrupt."
    ),
    "INTERRUPT_EXPIRED": ErrorCode(
        410,
        "The interrupt expired before this answer arrived.",
        'Cancel it (status "cancelled") or send a new message.',
    ),
    "INTERRUPT_NOT_FOUND": ErrorCode(
        404,
        "This thread never raised that interrupt.",
        "Answer the interrupts that the refusal restates, on the thread that raised them.",
    ),
    "INTERRUPT_PENDING": ErrorCode(
        409,
        "The thread waits for an answer to its open interrupts.",
        "Resolve or cancel them with `resume` before sending anything new.",
    ),
    "INTERRUPT_NOT_COVERED": ErrorCode(
        400,
        "The resume leaves open interrupts out.",
        "Send an entry for every open interrupt in one `resume`.",
    ),
    "NOT_AN_APPROVER": ErrorCode(
        403,
        "The approval rule of an interrupt does not name who answers it, or stops its thread.",
        "Have one of those answer whom the message names; the interrupt stays open for them.",
    ),
    "SELF_APPROVAL": ErrorCode(
        403,
        "Who sent the answer also asked for the run, and the rule wants somebody else.",
        "Have somebody else answer, or cancel the interrupt; it stays open.",
    ),
    "INVALID_RESUME_PAYLOAD": ErrorCode(
        422,
        "The payload does not satisfy the interrupt's responseSchema.",
        "Correct the payload and send it again; the interrupt stays open.",
    ),
    # --- the run itself ---
    "RUN_IN_PROGRESS": ErrorCode(
        409, "Another run of this thread is in progress.", "Wait for its end, or stop it."
    ),
    "RUN_INDETERMINATE": ErrorCode(
        500,
        "The run was lost, in this process or on a remote server; whether it acted is unknown.",
        "Check the effect yourself; it is not executed again. New messages are welcome.",
    ),
    "RUN_GIVEN_UP": ErrorCode(
        500,
        "The run was lost with its process again and again, and came no further.",
        "See the servers' logs for why they died; what has no result is unknown. Send it anew.",
    ),
    "AGENT_ERROR": ErrorCode(
        500, "The agent raised an error.", "See the server's log under the run's id."
    ),
    "AGENT_REFUSED": ErrorCode(
        422,
        "A guard of the agent would not let the message or the reply pass.",
        "Say it otherwise; the message has the guard's reason.",
    ),
    "AGENT_PROTOCOL_ERROR": ErrorCode(
        500, "The agent emitted events in an impossible order.", "Mend the agent or its adapter."
    ),
    "UPSTREAM_ERROR": ErrorCode(
        502, "The remote agent server failed or was not reached.", "Check that server, try again."
    ),
    "STORE_UNAVAILABLE": ErrorCode(
        503, "The store did not answer.", "Try again; what was acknowledged is kept."
    ),
    # --- the request never became a run ---
    "INVALID_INPUT": ErrorCode(
        422, "The request is malformed.", "Correct the field that the message names.", False
    ),
    "AGENT_NOT_FOUND": ErrorCode(
        404, "There is no agent of that name.", "GET /agents lists the names.", False
    ),
    "THREAD_NOT_FOUND": ErrorCode(
        404, "There is no such thread here.", "Check the thread's id and the credentials.", False
    ),
    "CALLBACK_NOT_AWAITED": ErrorCode(
        410,
        "Nothing waits for this callback: its run was stopped, has ended, or was given up.",
        "End what sent it; a new message begins anew.",
        False,
    ),
    "INVALID_REFERENCE": ErrorCode(
        400,
        "The reference to a question was changed, cut off, or signed with a key of another time.",
        "Copy it whole, or list the questions again.",
        False,
    ),
    "REFERENCE_EXPIRED": ErrorCode(
        410, "The link to a question has expired.", "Ask for a new one, or log in.", False
    ),
    "INTERRUPT_NOT_PENDING": ErrorCode(
        409,
        "The session waits for no answer: nothing was asked, it expired, or it was answered.",
        "Send a message to go on with the conversation.",
        False,
    ),
    "INTERRUPTS_UNSUPPORTED": ErrorCode(
        404, "The agent never asks anything.", "Send it messages instead.", False
    ),
    "NOT_FOUND": ErrorCode(404, "There is no such path.", "Check the address.", False),
    "METHOD_NOT_ALLOWED": ErrorCode(
        405, "The path does not take this method.", "Use a method that `Allow` names.", False
    ),
    "UNAUTHENTICATED": ErrorCode(
        401, "Credentials are missing or wrong.", "Send valid credentials.", False
    ),
    "FORBIDDEN": ErrorCode(
        403,
        "The host, the origin or the account may not do this.",
        "Do what the message says: it names the setting, if one would allow it.",
        False,
    ),
    "UNSUPPORTED_MEDIA_TYPE": ErrorCode(
        415, "The body is not JSON.", "Send `Content-Type: application/json`.", False
    ),
    "PAYLOAD_TOO_LARGE": ErrorCode(
        413, "The body is larger than allowed.", "Send less, or raise the limit.", False
    ),
    "REQUEST_TIMEOUT": ErrorCode(
        408, "The body did not arrive in time.", "Send it at once, or raise the limit.", False
    ),
    "TOO_MANY_RUNS": ErrorCode(
        429,
        "Too many runs of this scope at once; nothing was begun and no answer was taken.",
        "Wait for one of them to end, or stop one, and send it again.",
        False,
    ),
    "UNSUPPORTED_VERSION": ErrorCode(
        400, "The client speaks another major version of AG-UI.", "Use a 1.x client.", False
    ),
    "SHUTTING_DOWN": ErrorCode(
        503, "The server takes no new runs.", "Try again; another server may answer."
    ),
    "INTERNAL_ERROR": ErrorCode(
        500, "The server made a mistake.", "See the server's log and report it."
    ),
}
"""Every code on the wire, in the order of the documentation."""


class BridgeError(Exception):
    """Base of everything that agui-bridge raises on purpose."""


class Refused(BridgeError):
    """An input was refused and nothing changed.

    Attributes:
        code: a key of `CODES`.
        message: what was wrong, where, and what to do; goes out to the client.
        details: JSON-ready particulars (such as the field, or interrupt ids), or None.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code].status


class AdapterError(BridgeError):
    """The agent's side erred; the run ends with RUN_ERROR AGENT_ERROR."""

    code = "AGENT_ERROR"


class NotDelivered(AdapterError):
    """Raised by an adapter when nothing at all reached its framework.

    The batch reopens, so that the same answer can be sent again: raise it only when the
    framework can't have seen the answer (connection refused, name not resolved).
    """

    code = "UPSTREAM_ERROR"


class UpstreamError(AdapterError):
    """A remote server failed. The message goes to the client: no bodies, no secrets."""

    code = "UPSTREAM_ERROR"


class OutcomeUnknown(AdapterError):
    """Raised by an adapter whose framework took an answer, or may have, and then broke off.

    Whether it acted is unknown: the interrupts become indeterminate, and the answer is not sent
    again. The message goes to the client: no bodies, no secrets.
    """

    code = "RUN_INDETERMINATE"


class AgentRefused(AdapterError):
    """A guard of the agent (a guardrail, a moderation) would not go on; the message says why.

    Args:
        message: goes to the client.
        of: what the guard refuses: the user's "message" or the agent's "reply". People see both,
            and no agent is sent them any more, but for a message of whose calls the reply was, and
            these calls. None: the thread stays as it is.
    """

    code = "AGENT_REFUSED"

    def __init__(self, message: str, *, of: Literal["message", "reply"] | None = None) -> None:
        super().__init__(message)
        self.of = of


class ProtocolViolation(AdapterError):
    """The adapter broke the event order in a way that can't be repaired."""

    code = "AGENT_PROTOCOL_ERROR"


class AgentMistake(AdapterError):
    """A function agent broke a rule of durable execution. The message names the call."""


class ReplayMismatch(AgentMistake):
    """The function took another path on resume than the one its journal holds."""


class AmbiguousKey(AgentMistake):
    """A call repeats a journal key while several tasks are live: pass `key=`."""


class ApprovalSpent(AgentMistake):
    """`run.tool` was given an approval that was used already, or that is none."""


class StoreError(BridgeError):
    """The store refused or failed."""


class Conflict(StoreError):
    """The thread is not (any more) in the state that the commit expected."""


class Fenced(Conflict):
    """The lease that guarded a write is over or taken: its owner must stop at once."""


class WritesLost(Conflict):
    """The last write under a lease is not its owner's last one: a failover has lost some."""


class StoreUnavailable(StoreError):
    """The store did not answer; whether the last write arrived is unknown."""


class NotReplicated(StoreUnavailable):
    """The store has the write, and no replica is known to have it: a failover may lose it."""


class WritesRefused(StoreUnavailable):
    """The store answers and takes no writes: it only reads, or its disk or memory is full."""


class SchemaMismatch(StoreError):
    """The database's schema is older or newer than this version understands."""


class ConfigurationError(BridgeError):
    """A setting, an agent's definition or an installed adapter is wrong; says how to mend it."""
