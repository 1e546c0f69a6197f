"""By which errors a run is refused for what it was sent: those of the clients that there are."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import httpx
import openai
import pytest
import requests
from agno.exceptions import ModelProviderError
from botocore.exceptions import ClientError as AwsError  # type: ignore[import-untyped]
from google.genai.errors import ClientError as GeminiError, ServerError as GeminiServerError
from openai._models import FinalRequestOptions
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError
from starlette.exceptions import HTTPException

from agui_bridge.engine.run.refused_request import RefusedRequest, refused_request
from agui_bridge.errors import NotDelivered, Refused

Make = Callable[[int, dict[str, Any]], BaseException]

CHAT: Final = "http://model/v1/chat/completions"
CLIENT: Final = openai.OpenAI(api_key="k", base_url="http://model/v1")


def of_openai(status: int, body: dict[str, Any], address: str = CHAT) -> BaseException:
    """As the client makes it of a response."""
    options = FinalRequestOptions.construct(method="post", url=address)
    request = CLIENT._build_request(options)
    # Which HTTP library it uses depends on its version.
    library = import_module(type(request).__module__.partition(".")[0])
    answered = library.Response(status, json={"error": body}, request=request)
    return CLIENT._make_status_error_from_response(answered)


def of_httpx(status: int, body: dict[str, Any], address: str = CHAT) -> BaseException:
    response = httpx.Response(status, json={"error": body}, request=httpx.Request("POST", address))
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        return error
    raise AssertionError("it is an error")


def of_requests(status: int, body: dict[str, Any], address: str = CHAT) -> BaseException:
    response = requests.Response()
    response.status_code, response.url = status, address
    return requests.HTTPError(str(body), response=response)


def of_gemini(status: int, body: dict[str, Any]) -> BaseException:
    kind = GeminiServerError if status >= 500 else GeminiError
    return kind(status, {"error": {"code": status, **body}})


def of_aws(status: int, body: dict[str, Any], operation: str = "ConverseStream") -> BaseException:
    told = {"Code": "ValidationException", "Message": body.get("message", "")}
    made: BaseException = AwsError(
        {"Error": told, "ResponseMetadata": {"HTTPStatusCode": status}}, operation
    )
    return made


def of_pydantic(status: int, body: dict[str, Any]) -> BaseException:
    return came_of(ModelHTTPError(status, "m", body), of_openai(status, body))


def of_agno(status: int, body: dict[str, Any]) -> BaseException:
    made = ModelProviderError(str(body.get("message")), status_code=status)
    return came_of(made, of_openai(status, body))


def of_chat_agent(status: int, body: dict[str, Any]) -> BaseException:
    return came_of(NotDelivered(f"The server answered {status}."), of_openai(status, body))


def came_of(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def amid(error: BaseException, before: BaseException, *, hidden: bool = False) -> BaseException:
    """An error that was raised while another was handled."""
    error.__context__, error.__suppress_context__ = before, hidden
    return error


CLIENTS: Final[dict[str, Make]] = {
    "openai": of_openai,
    "httpx": of_httpx,
    "requests": of_requests,
    "google-genai": of_gemini,
    "AWS": of_aws,
    "Pydantic AI": of_pydantic,
    "Agno": of_agno,
    "ChatAgent": of_chat_agent,
}

PICTURE: Final = {"message": "This model does not support image input."}

REASONS: Final[dict[str, tuple[int, dict[str, Any], bool]]] = {
    "a picture": (400, PICTURE, True),
    "a kind of file": (415, {"message": "audio/ogg is not supported"}, True),
    "a part": (422, {"message": "messages.0.content: unknown part 'video'"}, True),
    "nothing but the status": (400, {"message": ""}, True),
    "the key": (401, {"message": "Incorrect key"}, False),
    "the key, by words": (400, {"message": "API key not valid. Please pass another."}, False),
    "what the key may": (403, {"message": "no"}, False),
    "the account": (400, {"message": "Your credit balance is too low"}, False),
    "the model's name": (404, {"message": "The model m does not exist"}, False),
    "the model's name, by words": (400, {"message": "The model `m` does not exist"}, False),
    "its size": (413, {"message": "too large"}, False),
    "its length": (400, {"message": "This model's maximum context length is 8192 tokens"}, False),
    "its length, elsewhere": (400, {"message": "prompt is too long: 210000 tokens"}, False),
    "the rate": (429, {"message": "slow down"}, False),
    "the server": (500, {"message": "oops"}, False),
    "the server's time": (504, {"message": "timeout"}, False),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("reason", REASONS)
def test_each_client_tells_a_refusal_of_the_request_from_all_else(client: str, reason: str) -> None:
    status, body, refused = REASONS[reason]
    found = refused_request(CLIENTS[client](status, body))
    assert found == (RefusedRequest(status) if refused else None)


OPENAI_CODES: Final = {
    ("invalid_image_format", None): RefusedRequest(400),
    ("invalid_value", "messages[1].content[0].type"): RefusedRequest(400),
    ("invalid_value", "input[0].content"): RefusedRequest(400),
    ("content_filter", None): RefusedRequest(400, filtered=True),
    ("context_length_exceeded", "messages"): None,
    ("unsupported_parameter", "temperature"): None,
    ("invalid_value", "max_tokens"): None,
    ("invalid_value", "tools[0].function.parameters"): None,
    ("invalid_value", "model"): None,
}


@pytest.mark.parametrize(("code", "param"), OPENAI_CODES)
def test_a_code_and_a_parameter_tell_what_is_refused(code: str, param: str | None) -> None:
    error = of_openai(400, {"message": "no", "code": code, "param": param})
    assert refused_request(error) == OPENAI_CODES[code, param]


OTHER_SERVICES: Final[dict[str, BaseException]] = {
    "a shop": of_httpx(400, {}, "http://shop/v1/orders"),
    "a shop, through requests": of_requests(400, {}, "http://shop/v1/orders"),
    "files, at the model's": of_openai(400, {}, "http://model/v1/files"),
    "a database at AWS": of_aws(400, {}, "PutItem"),
    "a web framework": HTTPException(400),
    "this bridge": Refused("INVALID_REFERENCE", "no"),
    "no service": ValueError("400"),
    "a code of another kind": type("Odd", (Exception,), {"code": "400"})(),
    "a code that is true": type("Odd", (Exception,), {"code": True})(),
}


@pytest.mark.parametrize("service", OTHER_SERVICES)
def test_what_is_no_models_answer_is_no_refusal(service: str) -> None:
    assert refused_request(OTHER_SERVICES[service]) is None


@pytest.mark.parametrize(
    "route",
    [
        "v1/responses",
        "v1/messages",
        "api/chat",
        "v1beta/models/m:streamGenerateContent?alt=sse",
        "openai/deployments/m/chat/completions?api-version=1",
    ],
)
def test_a_models_address_is_known_by_its_end(route: str) -> None:
    assert refused_request(of_httpx(400, PICTURE, f"http://model/{route}"))


REFUSAL, LIMIT = of_openai(400, PICTURE), of_openai(429, {"message": "slow down"})
CHAINS: Final[dict[str, tuple[BaseException, bool]]] = {
    "a framework's error of it": (came_of(RuntimeError("failed"), REFUSAL), True),
    "two levels of it": (came_of(OSError(), came_of(RuntimeError(), REFUSAL)), True),
    "while it was handled": (amid(RuntimeError("failed"), REFUSAL), True),
    "another one that hides it": (amid(RuntimeError("failed"), REFUSAL, hidden=True), False),
    "what failed last counts": (amid(of_openai(429, {}), REFUSAL), False),
    "all models refuse": (FallbackExceptionGroup("all", [of_pydantic(400, PICTURE)] * 2), True),
    "one of them is busy": (
        FallbackExceptionGroup("all", [of_pydantic(400, PICTURE), of_pydantic(429, {})]),
        False,
    ),
    "a group in a framework's error": (
        came_of(RuntimeError(), BaseExceptionGroup("all", [of_openai(400, PICTURE)])),
        True,
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_it_is_found_wherever_it_stands_in_the_chain(chain: str) -> None:
    error, refused = CHAINS[chain]
    assert (refused_request(error) is not None) is refused


def test_a_chain_that_goes_round_has_an_end() -> None:
    first, second = RuntimeError(), RuntimeError()
    first.__cause__, second.__cause__ = second, first
    assert refused_request(first) is None
    assert refused_request(None) is None
