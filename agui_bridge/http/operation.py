"""One operation of the HTTP surface, and the codes that operations share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JsonObject = dict[str, Any]
"""An object of a JSON document, by its keys."""

OPENS_STORE: Final = ("STORE_UNAVAILABLE", "INTERNAL_ERROR")
OF_AN_AGENT: Final = ("AGENT_NOT_FOUND", "NOT_FOUND")
"""No such agent, or no such path: a name in it has an encoded slash."""

OF_A_BODY: Final = (
    "INVALID_INPUT",
    "PAYLOAD_TOO_LARGE",
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_MEDIA_TYPE",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        id: its name in generated clients.
        tag: the group that it is shown in.
        summary: a few words.
        description: what there is to know besides.
        answer: the component of the body of a success; None for a 204, `Events` or `ChatFrame`
            for a stream.
        example: such a body; of a stream its events.
        stream: events of the stream that it answers with instead of a body, to some requests.
        query: the parameters of its query, in OpenAPI's form.
        body: the component or the schema of its body, None when it takes none.
        body_required: whether there must be a body.
        codes: the error codes that it may answer with, besides those of the credentials
            and of the host and origin.
        statuses: statuses of codes that are not those of `errors.CODES`.
        public: whether it answers without credentials, and under any host.
    """

    id: str
    tag: str
    summary: str
    description: str = ""
    answer: str | None = None
    example: Any = None
    stream: Any = None
    query: tuple[JsonObject, ...] = ()
    body: str | JsonObject | None = None
    body_required: bool = True
    codes: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    public: bool = False
