"""References: whole, proven by a key of now, in time, and never a link without a key."""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import replace

import pytest

from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from tests.support.clock import FakeClock

OLD, NEW = "an old key of sixteen bytes", "a new key of sixteen bytes"
QUESTION = Reference(ThreadKey("team/ä", "ops", "thread 1?"), "Zm9v-_x")
LINK = Reference(QUESTION.key, QUESTION.interrupt, "ann", 2_000_000_000.5)
DBA_LINK = replace(LINK, roles=frozenset({"dba", "ops"}))


def refusal(references: References, text: str) -> str:
    with pytest.raises(Refused) as refused:
        references.read(text)
    return refused.value.code


@pytest.mark.parametrize("keys", [(), (NEW,), (NEW, OLD)])
def test_a_reference_is_read_as_it_was_written(keys: tuple[str, ...]) -> None:
    text = References(keys).write(QUESTION)
    assert References(keys).read(text) == QUESTION
    assert text.replace("-", "").replace("_", "").replace(".", "").isalnum()


def test_a_link_names_its_person_and_its_end() -> None:
    references = References([NEW])
    assert references.read(references.write(LINK)) == LINK


def test_a_link_carries_the_roles_of_its_person() -> None:
    references = References([NEW])
    read = references.read(references.write(DBA_LINK))
    assert read == DBA_LINK
    assert read.holder == Principal("team/ä", "ann", frozenset({"dba", "ops"}))
    assert (LINK.holder, QUESTION.holder) == (Principal("team/ä", "ann"), None)


def test_a_link_of_before_there_were_roles_is_read() -> None:
    # As the version before wrote it, signed with NEW.
    old = (
        "WyJ0ZWFtL8OkIiwib3BzIiwidGhyZWFkIDE_IiwiWm05di1feCIsImFubiIsMjAwMDAwMDAwMC41XQ"
        ".GF4p9syJaNWGk8w82SpljBnqkfZyISkdcoBo69cBSpA"
    )
    assert References([NEW]).read(old) == LINK


def test_roles_are_signed() -> None:
    references = References([NEW])
    _, _, signature = references.write(LINK).partition(".")
    for named in (DBA_LINK, replace(LINK, roles=frozenset({"boss"}))):
        body, _, _ = References([OLD]).write(named).partition(".")
        assert refusal(references, f"{body}.{signature}") == "INVALID_REFERENCE"


def test_a_link_is_neither_written_nor_read_without_a_key() -> None:
    with pytest.raises(ConfigurationError, match=r"needs a key"):
        References().write(LINK)
    body, _, _ = References([NEW]).write(LINK).partition(".")
    assert refusal(References(), body) == "INVALID_REFERENCE"


def test_every_key_of_now_verifies_and_the_first_signs() -> None:
    text = References([OLD]).write(LINK)
    both = References([NEW, OLD])
    assert both.read(text) == LINK
    assert References([NEW]).read(both.write(LINK)) == LINK
    assert refusal(References([NEW]), text) == "INVALID_REFERENCE"


def test_a_changed_character_anywhere_makes_it_invalid() -> None:
    references = References([NEW])
    text = references.write(LINK)
    for at, letter in enumerate(text):
        other = "A" if letter != "A" else "B"
        assert refusal(references, text[:at] + other + text[at + 1 :]) == "INVALID_REFERENCE", at


@pytest.mark.parametrize(
    "text", ["", ".", "x", "x.y", "é.é", "A" * 100_000, "W10", "W10=", "bnVsbA"]
)
@pytest.mark.parametrize("keys", [(), (NEW,)])
def test_what_is_no_reference_is_refused(text: str, keys: tuple[str, ...]) -> None:
    assert refusal(References(keys), text) == "INVALID_REFERENCE"


@pytest.mark.parametrize(
    "named",
    [
        {"scope": "a"},
        ["a", "b", "c"],
        ["a", "b", "c", 1],
        ["a", "b", "c", "d", None, None],
        ["a", "b", "c", "d", "ann", True],
        ["a", "b", "c", "d", 7, 1],
        ["a", "b", "c", "d", "ann", 1, ["dba"]],
        ["a", "b", "c", "d", "ann", 1, "dba"],
        ["a", "b", "c", "d", "ann", 1, []],
        ["a", "b", "c", "d", "ann", 1, [7]],
        ["a", "b", "c", "d", None, None, ["dba"]],
        ["a", "b", "c", "\ud800"],
        ["a", "b", "c\x00", "d"],
    ],
)
def test_unsigned_json_of_another_shape_is_refused(named: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(named).encode()).decode().rstrip("=")
    assert refusal(References(), text) == "INVALID_REFERENCE"


@pytest.mark.parametrize("roles", ["dba", [], [7], [["dba"]], {"dba": 1}, None, ["b", "a"]])
def test_signed_roles_of_another_shape_are_refused(roles: object) -> None:
    named = ["a", "b", "c", "d", "ann", 4e9, roles]
    written = json.dumps(named, separators=(",", ":")).encode()
    body = base64.urlsafe_b64encode(written).decode().rstrip("=")
    proof = hmac.digest(NEW.encode(), b"agui-bridge reference\n" + body.encode(), "sha256")
    signature = base64.urlsafe_b64encode(proof).decode().rstrip("=")
    assert refusal(References([NEW]), f"{body}.{signature}") == "INVALID_REFERENCE"


def test_an_unsigned_reference_is_none_where_there_are_keys_and_the_reverse() -> None:
    assert refusal(References([NEW]), References().write(QUESTION)) == "INVALID_REFERENCE"
    assert refusal(References(), References([NEW]).write(QUESTION)) == "INVALID_REFERENCE"


def test_one_question_has_one_unsigned_text() -> None:
    text = References().write(QUESTION)
    for other in (text + "=", text + "==", text + "\n", text[:4] + "\n" + text[4:]):
        assert refusal(References(), other) == "INVALID_REFERENCE"


def test_a_link_ends_at_its_time() -> None:
    clock = FakeClock()
    references = References([NEW], clock.time)
    text = references.write(Reference(QUESTION.key, "i", "ann", clock.time() + 60))
    clock.advance(59.5)
    assert references.read(text).actor == "ann"
    clock.advance(0.5)
    assert refusal(references, text) == "REFERENCE_EXPIRED"


def test_a_short_key_is_refused_and_no_key_is_shown() -> None:
    with pytest.raises(ConfigurationError, match="fewer than 16 bytes") as refused:
        Inbox(keys=["brief"])
    assert "brief" not in str(refused.value)
    assert NEW not in repr(Inbox(keys=[NEW]))


def test_one_text_is_no_list_of_keys() -> None:
    with pytest.raises(ConfigurationError, match="keys must be a list"):
        Inbox(keys=NEW)


@pytest.mark.parametrize(
    "url",
    ["agents.example", "ftp://agents.example", "https://", "//x", "https://[", "https://x?y"],
)
def test_an_address_that_people_can_not_reach_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="url must be a whole address"):
        Inbox(url=url)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_links_are_good_for_some_time(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="link_ttl"):
        Inbox(link_ttl=seconds)
