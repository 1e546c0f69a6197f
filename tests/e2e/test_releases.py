"""Every change of shapes before 1.0: each release's own client reads all that a thread may hold."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.e2e.clients import Driver
from tests.e2e.everything import PARTS, SAID
from tests.e2e.lines import HERE
from tests.e2e.target import Target

Json = dict[str, Any]

FOLDER: Final = HERE / "releases"
RELEASES: Final = sorted(
    int(name.removeprefix("client-"))
    for name in json.loads((FOLDER / "package.json").read_text())["dependencies"]
)
OUTCOMES: Final = 54
"""The release that reads outcomes itself first."""

CONNECTS: Final = 41
"""The release that has `connectAgent` first."""

TEXT, URL, DATA, _, _, BINARY = PARTS
DOWNGRADED: Final[list[Json]] = [
    TEXT,
    {"type": "binary", "mimeType": "image/*", "url": URL["source"]["value"]},
    {"type": "binary", "mimeType": "text/plain", "data": "aGk=", "filename": "a.txt"},
    BINARY,
]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server whose agent sends everything that there is."""
    with Target(tmp_path_factory.mktemp("everything"), module="tests.e2e.everything") as target:
        yield target


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> int:
    """The release that this test is about."""
    number: int = request.param
    return number


@pytest.fixture
def client(release: int) -> Iterator[Driver]:
    """A Node process with the client of that release."""
    driver = Driver(f"0.0.{release}", f"client-{release}", "releases/client.mjs", FOLDER)
    yield driver
    driver.close()


class Tab:
    """A page of an old client, on a thread in which somebody else has said all that there is.

    Args:
        client: its process.
        target: the server.
        declares: the version that it declares in a header, None for none.
        thread: one that is there already; by default a new one.
    """

    def __init__(
        self, client: Driver, target: Target, declares: str | None, thread: str | None = None
    ) -> None:
        self.thread = thread or f"thread-{secrets.token_hex(6)}"
        self._client, self._name = client, secrets.token_hex(6)
        headers = {} if declares is None else {"AG-UI-Protocol-Version": declares}
        opened = {"url": target.url, "threadId": self.thread, "headers": headers}
        client.send("open", page=self._name, **opened).result()
        if thread is None:
            body = {
                "threadId": self.thread,
                "runId": secrets.token_hex(6),
                "messages": [{"id": "parts", "role": "user", "content": PARTS}],
                "protocolVersion": "1.1",
            }
            httpx.post(target.url, json=body, timeout=60).raise_for_status()

    def run(self, text: str | None = None, **options: Any) -> Json:
        """Say something, answer or come back; gives what the client has then."""
        if text is not None:
            options["message"] = {"id": secrets.token_hex(6), "role": "user", "content": text}
        reply = self._client.send("run", page=self._name, runId=secrets.token_hex(6), **options)
        return reply.result()

    def answer(self, seen: Json, release: int) -> Json:
        """Approve what is asked, in the way that the client has."""
        if release >= OUTCOMES:
            (ask,) = seen["pendingInterrupts"]
            entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
            return self.run(resume=[entry])
        (value,) = (event["value"] for event in seen["seen"] if event["type"] == "CUSTOM")
        command = {"resume": {"approved": True}, "interruptEvent": value}
        return self.run(forwardedProps={"command": command})


def check_thread(messages: list[Json], release: int) -> None:
    """Assert that the client has all of the thread that it can show."""
    roles = {message["role"] for message in messages}
    assert ("reasoning" in roles) is (release >= 45)
    assert ("activity" in roles) is (release >= 41)
    (parts,) = (message["content"] for message in messages if message["id"] == "parts")
    if release < 41:
        assert parts == "show"
    else:
        shown = DOWNGRADED if release < 49 else [TEXT, URL, DATA, BINARY]
        assert [_bare(part) for part in parts] == [_bare(part) for part in shown]
    assert {("tool", "a chart"), ("user", "Noted."), ("assistant", SAID)} <= _texts(messages)


def paid(everything: Target) -> list[str]:
    """Who was paid."""
    return [line["to"] for line in everything.effects]


def _texts(messages: list[Json]) -> set[tuple[str, str]]:
    return {
        (message["role"], message["content"])
        for message in messages
        if isinstance(message.get("content"), str)
    }


def _bare(part: Json) -> Json:
    return {key: part[key] for key in part if key != "metadata"}


def test_a_page_reads_a_thread_that_holds_everything_and_answers_in_it(
    client: Driver, everything: Target, release: int
) -> None:
    version, name = f"0.0.{release}", f"ann{secrets.token_hex(4)}"
    tab = Tab(client, everything, version)
    asked = tab.run(f"pay {name}")
    assert asked["rejected"] is None
    check_thread(asked["messages"], release)
    if release >= CONNECTS:
        tab = Tab(client, everything, version, tab.thread)
        asked = tab.run(connect=True)
        assert asked["rejected"] is None
        check_thread(asked["messages"], release)
    assert name not in paid(everything)
    done = tab.answer(asked, release)
    assert done["rejected"] is None
    assert done["messages"][-1]["content"] == f"paid {name}"
    assert paid(everything).count(name) == 1


def test_a_page_reads_a_run_that_sends_everything(
    client: Driver, everything: Target, release: int
) -> None:
    shown = Tab(client, everything, f"0.0.{release}").run("show")
    assert (shown["rejected"], shown["seen"][-1]["type"]) == (None, "RUN_FINISHED")
    kinds = {event["type"] for event in shown["seen"]}
    assert ("TOOL_CALL_RESULT" in kinds) is (release >= 30)
    assert ("ACTIVITY_DELTA" in kinds) is (release >= 41)
    assert ("REASONING_MESSAGE_CONTENT" in kinds) is (release >= 45)
    assert ("SUBAGENT_STARTED" in kinds) is (release >= 59)
    texts = _texts(shown["messages"])
    assert ("assistant", SAID) in texts
    assert ("user" if release >= 37 else "assistant", "Noted.") in texts
    assert (("tool", "a chart") in texts) is (release >= 30)


def test_no_page_reads_what_one_of_1_1_is_told(
    client: Driver, everything: Target, release: int
) -> None:
    shown = Tab(client, everything, "1.1").run("show")
    assert ("assistant", SAID) not in _texts(shown["messages"])


@pytest.mark.parametrize("release", [59], indirect=True)
def test_a_page_that_declares_nothing_is_one_of_the_last_release(
    client: Driver, everything: Target, release: int
) -> None:
    tab, name = Tab(client, everything, None), f"ann{secrets.token_hex(4)}"
    shown = tab.run("show")
    assert (shown["rejected"], shown["seen"][-1]["type"]) == (None, "RUN_FINISHED")
    asked = tab.run(f"pay {name}")
    assert asked["rejected"] is None
    check_thread(asked["messages"], release)
    assert len(asked["pendingInterrupts"]) == 1
