"""What is refused before there is a stream: its status and body, and a store as it was."""

import json
import logging
from typing import Any

import pytest

from tests.http.conftest import Serving
from tests.support.server import run_input

VALID = run_input("hi")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def wrong(field: str, *values: Any) -> list[tuple[str, Any, str]]:
    """Values that a field can't have; the error names the field."""
    return [(field, value, field) for value in values]


def wrong_items(field: str, *values: Any) -> list[tuple[str, Any, str]]:
    """Items that a list can't have; the error names the item, or the field."""
    return [(field, [value], field) for value in values]


WRONG_FIELDS: list[tuple[str, Any, str]] = [
    *wrong("threadId", None, 5, True, [], {}, ""),
    *wrong("runId", None, 5, [], ""),
    *wrong("messages", None, 5, "x", {}, True),
    *wrong_items("messages", None, 5, "x", [], {}),
    ("messages", [{"role": "user", "content": "x"}], "messages.0"),
    ("messages", [{"id": 5, "role": "user", "content": "x"}], "messages.0"),
    ("messages", [{"id": "1", "role": "nobody", "content": "x"}], "messages.0"),
    ("messages", [{"id": "1", "content": "x"}], "messages.0"),
    ("messages", [{"id": "1", "role": "user"}], "messages.0"),
    ("messages", [{"id": "1", "role": "user", "content": None}], "messages.0"),
    ("messages", [{"id": "1", "role": "user", "content": 7}], "messages.0"),
    ("messages", [{"id": "1", "role": "user", "content": [{"type": "text"}]}], "messages.0"),
    ("messages", [{"id": "1", "role": "tool", "content": "x"}], "messages.0"),
    ("messages", [{"id": "1", "role": "assistant", "toolCalls": 5}], "messages.0"),
    *wrong("tools", 5, "x", {}, [5], [{}]),
    *wrong("context", 5, "x", {}, [5], [{}]),
    *wrong("resume", 5, "x", {}, True, [5], [None], [[]], [{}]),
    ("resume", [{"interruptId": "1"}], "resume.0.status"),
    ("resume", [{"interruptId": 1, "status": "resolved"}], "resume.0.interruptId"),
    ("resume", [{"interruptId": "1", "status": "approved"}], "resume.0.status"),
    ("resume", [{"interruptId": "1", "status": None}], "resume.0.status"),
    ("resume", [{"status": "resolved"}], "resume.0.interruptId"),
    ("resume", [{"interruptId": "1", "status": "resolved", "metadata": 5}], "resume.0.metadata"),
    *wrong("protocolVersion", 1, 1.0, [], {}, True),
    ("parentRunId", 5, "parentRunId"),
]


async def test_every_known_field_of_the_wrong_shape_is_a_422_that_names_it(
    serving: Serving,
) -> None:
    async with serving() as site:
        for field, value, named in WRONG_FIELDS:
            response = await site.http.post("/agents/agent", json={**VALID, field: value})
            assert response.status_code == 422, (field, value, response.text)
            error = response.json()["error"]
            assert error["code"] == "INVALID_INPUT"
            assert error["details"]["field"].startswith(named), (field, value, error)
            assert named.split(".")[0] in error["message"]
        for field in ("threadId", "runId", "messages"):
            body = {key: value for key, value in VALID.items() if key != field}
            response = await site.http.post("/agents/agent", json=body)
            assert response.status_code == 422
            assert response.json()["error"]["details"]["field"] == field
        assert site.agent.runs == []
        assert (await site.everything())[0] is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b"null",
        b'"text"',
        b"5",
        b'{"threadId": "t",}',
        b'{"a": NaN}',
        b'{"state": Infinity, "threadId":"t","runId":"r","messages":[]}',
        b'{"state": 1e999, "threadId":"t","runId":"r","messages":[]}',
        b'{"threadId": "\xff", "runId":"r","messages":[]}',
        b'{"threadId": "\xed\xa0\x80", "runId":"r","messages":[]}',
        b'{"threadId": "t\\u0000", "runId":"r","messages":[]}',
        b'{"threadId": "t\\ud800", "runId":"r","messages":[]}',
        b'{"state": {"\\u0000": 1}, "threadId":"t","runId":"r","messages":[]}',
        b'{"state": ' + b"[" * 101 + b"]" * 101 + b', "threadId":"t","runId":"r","messages":[]}',
        b"[" * 100_000,
        b'{"state":' * 50_000,
        b'{"state": ' + b"1" * 5000 + b', "threadId":"t","runId":"r","messages":[]}',
        "\ufeff{}".encode(),
    ],
    ids=lambda body: repr(body[:24]),
)
async def test_what_is_no_acceptable_json_is_a_422_and_changes_nothing(
    serving: Serving, body: bytes
) -> None:
    async with serving() as site:
        response = await site.http.post(
            "/agents/agent", content=body, headers={"content-type": "application/json"}
        )
        assert response.status_code == 422, response.text
        error = response.json()["error"]
        assert error["code"] == "INVALID_INPUT" and error["message"]
        assert site.agent.runs == [] and site.store.commits == []


@pytest.mark.parametrize("kind", [None, "text/plain", "multipart/form-data", "application/xml"])
async def test_another_content_type_is_a_415(serving: Serving, kind: str | None) -> None:
    async with serving() as site:
        headers = {} if kind is None else {"content-type": kind}
        response = await site.http.post("/agents/agent", content=json.dumps(VALID), headers=headers)
        assert response.status_code == 415
        assert response.json()["error"]["code"] == "UNSUPPORTED_MEDIA_TYPE"


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/agui+json"]
)
async def test_json_content_types_are_taken(serving: Serving, kind: str) -> None:
    async with serving() as site:
        response = await site.http.post(
            "/agents/agent", content=json.dumps(VALID), headers={"content-type": kind}
        )
        assert response.status_code == 200


async def test_a_body_that_is_too_large_is_a_413(serving: Serving) -> None:
    async with serving(max_body_bytes=10_000) as site:
        for content in (b"x" * 10_001, b'{"state": "' + b"x" * 200_000):
            response = await site.http.post(
                "/agents/agent", content=content, headers={"content-type": "application/json"}
            )
            assert response.status_code == 413
            error = response.json()["error"]
            assert error["code"] == "PAYLOAD_TOO_LARGE"
            assert error["details"]["limit"] == 10_000
            assert error["details"]["found"] == len(content)
        assert (await site.http.post("/agents/agent", json=VALID)).status_code == 200


async def test_a_body_of_unknown_length_is_cut_off_at_the_limit(serving: Serving) -> None:
    async def endless() -> Any:
        for _ in range(10_000):
            yield b"x" * 1000

    async with serving(max_body_bytes=10_000) as site:
        response = await site.http.post(
            "/agents/agent", content=endless(), headers={"content-type": "application/json"}
        )
        assert response.status_code == 413


@pytest.mark.parametrize(
    "method, path, code, status",
    [
        ("POST", "/agents/nobody", "AGENT_NOT_FOUND", 404),
        ("GET", "/agents/nobody/capabilities", "AGENT_NOT_FOUND", 404),
        ("GET", "/agents/nobody/threads", "AGENT_NOT_FOUND", 404),
        ("GET", "/agents/nobody/threads/t", "AGENT_NOT_FOUND", 404),
        ("GET", "/agents/agent/threads/t", "THREAD_NOT_FOUND", 404),
        ("DELETE", "/agents/agent/threads/t", "THREAD_NOT_FOUND", 404),
        ("POST", "/agents/agent/threads/t/stop", "THREAD_NOT_FOUND", 404),
        ("GET", "/agents/agent/threads/t/interrupts", "THREAD_NOT_FOUND", 404),
        ("POST", "/agents/agent/threads/t/connect", "THREAD_NOT_FOUND", 404),
        ("GET", "/agents/agent/threads/t/connect", "THREAD_NOT_FOUND", 404),
        ("GET", "/nowhere", "NOT_FOUND", 404),
        ("GET", "/agents/agent/nowhere", "NOT_FOUND", 404),
        ("GET", "/agents/agent", "METHOD_NOT_ALLOWED", 405),
        ("PUT", "/agents", "METHOD_NOT_ALLOWED", 405),
        ("PATCH", "/agents/agent/threads/t", "METHOD_NOT_ALLOWED", 405),
        ("GET", "/agents/agent/threads/t/stop", "METHOD_NOT_ALLOWED", 405),
        ("DELETE", "/agents/agent/threads/t/connect", "METHOD_NOT_ALLOWED", 405),
        ("POST", "/interrupts", "METHOD_NOT_ALLOWED", 405),
        ("POST", "/healthz", "METHOD_NOT_ALLOWED", 405),
        ("DELETE", "/readyz", "METHOD_NOT_ALLOWED", 405),
        ("GET", "/agents/agent/threads?limit=0", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?limit=501", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?limit=x", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?limit=%C2%B2", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?before=soon", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?before=nan", "INVALID_INPUT", 422),
        ("GET", "/agents/agent/threads?before=-1", "INVALID_INPUT", 422),
        ("GET", "/interrupts?status=pending", "INVALID_INPUT", 422),
        ("GET", "/interrupts?limit=1001", "INVALID_INPUT", 422),
    ],
)
async def test_a_wrong_address_method_or_parameter_has_its_documented_error(
    serving: Serving, method: str, path: str, code: str, status: int
) -> None:
    async with serving() as site:
        response = await site.http.request(method, path, json=VALID if method == "POST" else None)
        assert response.status_code == status, response.text
        error = response.json()["error"]
        assert error["code"] == code and error["message"]
        assert ("allow" in response.headers) == (status == 405)


@pytest.mark.parametrize(
    "body", [[], 5, {"force": 1}, {"force": "yes"}, {"timeout": -1}, {"timeout": 601},
             {"timeout": True}, {"timeout": "5"}, {"timeout": None}]
)  # fmt: skip
async def test_wrong_options_of_a_stop_are_a_422_and_stop_nothing(
    serving: Serving, body: Any
) -> None:
    async with serving() as site:
        await site.ask()
        before = await site.everything()
        response = await site.http.post("/agents/agent/threads/t/stop", json=body)
        assert response.status_code == 422
        assert await site.everything() == before


@pytest.mark.parametrize("version", ["2.0", "2", "10.3"])
async def test_another_major_version_is_refused_and_a_garbled_one_is_not(
    serving: Serving, version: str
) -> None:
    async with serving() as site:
        response = await site.http.post("/agents/agent", json=run_input("hi", version=version))
        refused = version != "2"
        assert response.status_code == (400 if refused else 200)
        if refused:
            assert response.json()["error"]["code"] == "UNSUPPORTED_VERSION"
            assert site.agent.runs == []


@pytest.mark.parametrize(
    "version, spoken, warned",
    [
        ("1.0", "1.0", False),
        ("1.1", "1.1", False),
        ("1.7", "1.1", True),
        ("garbage", "1.1", True),
        ("", "1.1", True),
        ("1.0.0", "1.1", True),
        ("0.9", "1.0", False),
    ],
)
async def test_newer_minors_and_garbage_are_served_with_a_warning(
    serving: Serving, version: str, spoken: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as site:
        with caplog.at_level(logging.WARNING, "agui_bridge"):
            stream = await site.run("hi", version=version)
        assert stream.events[0]["protocolVersion"] == spoken
        assert any(record.name == "agui_bridge" for record in caplog.records) is warned


async def test_unknown_members_are_ignored_with_a_warning(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as site:
        with caplog.at_level(logging.WARNING, "agui_bridge"):
            stream = await site.run("hi", unheardOf={"x": 1})
        assert stream.events[-1]["type"] == "RUN_FINISHED"
        assert "unheardOf" in caplog.text


async def test_null_optionals_count_as_absent(serving: Serving) -> None:
    async with serving() as site:
        nulls = dict.fromkeys(("state", "tools", "context", "resume", "parentRunId"))
        stream = await site.run("hi", forwardedProps=None, **nulls)
        assert stream.events[-1]["outcome"]["type"] == "interrupt"


async def test_a_store_that_is_down_is_a_503_everywhere_but_healthz(serving: Serving) -> None:
    async with serving() as site:
        await site.ask()
        site.store.down = True
        for method, path in (
            ("POST", "/agents/agent"),
            ("GET", "/agents/agent/threads/t"),
            ("DELETE", "/agents/agent/threads/t"),
            ("POST", "/agents/agent/threads/t/stop"),
            ("GET", "/agents/agent/threads/t/interrupts"),
            ("GET", "/agents/agent/threads/t/connect"),
            ("GET", "/readyz"),
        ):
            body = VALID if path == "/agents/agent" else None
            response = await site.http.request(method, path, json=body)
            assert response.status_code == 503, (method, path)
            assert response.json()["error"]["code"] == "STORE_UNAVAILABLE"
        assert (await site.http.get("/healthz")).status_code == 200
        site.store.down = False
        assert (await site.http.get("/readyz")).json() == {"status": "ok"}


async def test_a_mistake_of_the_bridge_itself_is_a_500_without_internals(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: Any) -> Any:
        raise KeyError("hunter2")

    async with serving(authenticate=broken) as site:
        with caplog.at_level(logging.CRITICAL, "agui_bridge"):
            response = await site.http.get("/agents")
        assert response.status_code == 500
        assert response.json()["error"]["code"] == "INTERNAL_ERROR"
        assert "hunter2" not in response.text
