"""A Python client of any AG-UI endpoint.

`Client` keeps one conversation: it runs the agent, streams events, folds them into messages and
state, knows the open interrupts and answers them. `open_exchange` is the layer below: one
POST, its status, headers, and raw stream. `InboxClient` finds and answers the questions of an
agui-bridge server one by one. See docs/python-client.md.
"""

from agui_bridge.client.client import Client
from agui_bridge.client.conversation import (
    Answers,
    Cancelled,
    ClientDialectName,
    Conversation,
    Resolved,
    build_resume,
    is_expired,
)
from agui_bridge.client.exchange import (
    AnswerFault,
    BrokenStream,
    ClientError,
    Exchange,
    HttpError,
    NotReached,
    RunEnd,
    RunFailed,
    open_exchange,
)
from agui_bridge.client.inbox import InboxClient

__all__ = [
    "AnswerFault",
    "Answers",
    "BrokenStream",
    "Cancelled",
    "Client",
    "ClientDialectName",
    "ClientError",
    "Conversation",
    "Exchange",
    "HttpError",
    "InboxClient",
    "NotReached",
    "Resolved",
    "RunEnd",
    "RunFailed",
    "build_resume",
    "is_expired",
    "open_exchange",
]
