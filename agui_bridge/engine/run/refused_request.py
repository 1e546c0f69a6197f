"""Whether a run failed because a model's endpoint refuses what it was sent.

Each client of a model raises errors of its own. What they share is the HTTP status, theirs or that
of their response, and that they stand in the chain of the error that comes out of a framework. A
refusal of the request itself is 400, 415 or 422; a key, a missing model, a limit or a broken server
have other statuses, and where a provider answers 400 for one of those, its words tell.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

from agui_bridge.errors import AdapterError, AgentMistake, AgentRefused, BridgeError
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.run_ends import Failed, RefusedPart

logger: Final = logging.getLogger("agui_bridge")

_REFUSALS: Final = frozenset({400, 415, 422})
_LONGEST_CHAIN: Final = 20
_MOST_WORDS: Final = 4_000
"""Characters of an error's words that are looked at."""

_ROUTES: Final = re.compile(
    r"chat|completions|responses|messages|generate|predict|invocations|invoke|"
    r"converse(-stream)?|invoke-with-response-stream|"
    r"(generate|streamGenerate)Content|rawPredict|streamRawPredict"
)
"""How the addresses end at which models are asked: other services answer 400, too."""
_OPERATIONS: Final = frozenset(
    {"Converse", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream"}
)
"""The same of AWS, whose client tells no address."""

_OTHER_REASONS: Final = re.compile(
    # It is too long.
    r"context.?(length|window|size)|too many tokens|(prompt|input|request|conversation|messages?)"
    r"[^.]{0,40} too (long|large)|maximum (number of )?(input )?tokens|token (count|limit)|"
    r"reduce the length|string_above_max_length|"
    # The key, or the account.
    r"api.?key|authenticat|credit balance|billing|quota|rate.?limit|user location|"
    # The model, or an option of it.
    r"model_not_found|(no such|unknown|invalid) model|model[^.]{0,80} (does not exist|not found|"
    r"is not a valid)|not a valid model|unsupported_parameter|unknown_parameter|unsupported_value|"
    r"invalid_function_parameters|invalid schema|unrecognized request argument",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"content.?(filter|policy|management)|responsibleai|moderation|safety", re.IGNORECASE
)
_OPTIONS: Final = re.compile(
    r"(model|tools?|tool_choice|functions?|function_call|temperature|top_p|top_k|n|stop|user|seed|"
    r"stream\w*|max_\w+|response_format|text|reasoning\w*|metadata|store|\w*penalty|log\w*)\b"
)
"""Members of a request that no message brings."""


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A model's endpoint refuses a request.

    Attributes:
        status: the HTTP status.
        filtered: whether it says that what was said there is against its policy.
    """

    status: int
    filtered: bool = False


def refused_request(error: BaseException | None) -> RefusedRequest | None:
    """Whether an error is a model's refusal of what it was sent; None where it is anything else.

    The outermost error of the chain that has a status decides. Of a group of errors (a model, then
    those that stood in for it) all must be refusals.

    Args:
        error: what came out of an agent.
    """
    if isinstance(error, BaseExceptionGroup):
        found = [refused_request(each) for each in error.exceptions]
        return found[0] if all(found) else None
    chain = list(islice(_chain(error), _LONGEST_CHAIN))
    deciding = next((each for each in chain if _status(each) is not None), None)
    if deciding is None:
        grouped = next((each for each in chain if isinstance(each, BaseExceptionGroup)), None)
        return None if grouped is None else refused_request(grouped)
    status = _status(deciding)
    if status not in _REFUSALS or not _is_of_model(chain):
        return None
    words = " ".join(_words(each) for each in chain)
    if any(_OPTIONS.match(_text(each, "param")) for each in chain) or _OTHER_REASONS.search(words):
        return None
    return RefusedRequest(status, _FILTERED.search(words) is not None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it came of, as Python tells them."""
    while error is not None:
        yield error
        context = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or context


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error tells; None where it tells none."""
    # A bridge's own refusals have statuses, too; they are no model's.
    if isinstance(error, BridgeError):
        return None
    response = getattr(error, "response", None)
    told: list[Any] = [getattr(error, name, None) for name in ("status_code", "code")]
    told.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):
        told.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    found = (each for each in told if type(each) is int and 100 <= each < 600)
    return next(found, None)


def _is_of_model(chain: list[BaseException]) -> bool:
    """Whether a model was asked, as far as the errors tell what was.

    An error of an HTTP client or of a web framework may be anybody's; one of a model's client is a
    model's.
    """
    for error in chain:
        if (operation := getattr(error, "operation_name", None)) is not None:
            return operation in _OPERATIONS
        address = _address(error) or _address(getattr(error, "response", None))
        if address is not None:
            end = urlsplit(address).path.rstrip("/").rpartition("/")[2]
            return _ROUTES.fullmatch(end.rpartition(":")[2]) is not None
    libraries = {type(error).__module__.partition(".")[0] for error in chain if _status(error)}
    return not libraries & {"httpx", "httpx2", "requests", "urllib", "aiohttp", "fastapi"} and (
        "starlette" not in libraries
    )


def _address(thing: object) -> str | None:
    """Where a request went, of an error or a response that tells it."""
    try:
        url = getattr(getattr(thing, "request", None), "url", None) or getattr(thing, "url", None)
    except RuntimeError:
        # Of an httpx response that was made by hand.
        return None
    return str(url) if url is not None else None


def _words(error: BaseException) -> str:
    """What an error says of itself."""
    told = (str(error), _text(error, "code"), _text(error, "type"), _text(error, "body"))
    return " ".join((*told, _body(getattr(error, "response", None))))[:_MOST_WORDS]


def _body(response: object) -> str:
    """What a response of httpx says, as far as it has been read."""
    if getattr(response, "is_stream_consumed", None) is not True:
        return ""
    try:
        return str(getattr(response, "text", ""))
    except (RuntimeError, ValueError):
        return ""


def _text(error: BaseException, name: str) -> str:
    value = getattr(error, name, None)
    return str(value) if isinstance(value, str | Mapping) else ""


def failure_of(error: BaseException) -> Failed:
    """How a run ends whose agent has raised an error."""
    refusal = refused_request(error)
    refused: RefusedPart | None = error.of if isinstance(error, AgentRefused) else None
    if refusal is not None:
        refused = "content" if refusal.filtered else "request"
    if isinstance(error, AdapterError) and not isinstance(error, AgentMistake):
        logger.warning("%s", error)
        return Failed(error.code, str(error), refused)
    logger.error("the agent raised an error", exc_info=error)
    told = f"The model's server refuses the request ({refusal.status})." if refusal else None
    return Failed("AGENT_ERROR", told, refused)
