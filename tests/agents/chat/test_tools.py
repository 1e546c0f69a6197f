"""What a model is told of a tool, and what a function gets of a call."""

from __future__ import annotations

import datetime
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from agui_bridge.agents.chat import AskUser, ChatAgent, Tool, tool
from agui_bridge.errors import ConfigurationError


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Customer(BaseModel):
    name: str
    since: datetime.date


@tool
def plain(customer: Customer, size: Size = Size.SMALL) -> str:
    """Write an offer.

    In the customer's language.
    """
    return f"{customer.name} {customer.since.year} {size.name}"


def test_a_tool_is_described_by_its_name_docstring_and_annotations() -> None:
    described = plain.describe()["function"]
    assert (described["name"], described["description"]) == (
        "plain",
        "Write an offer.\n\nIn the customer's language.",
    )
    parameters = described["parameters"]
    assert parameters["required"] == ["customer"]
    assert parameters["additionalProperties"] is False
    assert parameters["$defs"]["Size"]["enum"] == ["small", "large"]


async def test_the_function_gets_what_its_annotations_say() -> None:
    args = {"customer": {"name": "Ann", "since": "2020-02-01"}, "size": "large"}
    assert plain.find_fault(args) is None
    assert plain.fn(**args) == "Ann 2020 LARGE"

    @tool
    async def later(day: datetime.date) -> int:
        return day.month

    assert await later.fn(day="2020-02-01") == 2


def test_a_tool_is_still_the_function() -> None:
    assert plain(Customer(name="Bo", since=datetime.date(2021, 1, 1))) == "Bo 2021 SMALL"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "customer"),
        ({"customer": {"name": "Ann"}}, "since"),
        ({"customer": {"name": "Ann", "since": "2020-02-01"}, "size": "huge"}, "huge"),
        ({"customer": {"name": "Ann", "since": "2020-02-01"}, "color": "red"}, "color"),
    ],
)
def test_arguments_that_do_not_fit_are_told(args: dict[str, Any], told: str) -> None:
    assert told in (plain.find_fault(args) or "")


def test_what_is_destructive_needs_approval_unless_it_says_otherwise() -> None:
    def delete() -> None: ...

    assert Tool(delete, destructive=True).approval == "always"
    assert Tool(delete, destructive=True, approval="never").approval == "never"
    assert Tool(delete).approval == "never"
    assert Tool(delete, name="drop", message="May {name} run?").message == "May drop run?"


@pytest.mark.parametrize("approval", ["allways", True, False, ""])
def test_an_approval_that_is_none_is_told_and_never_means_never(approval: Any) -> None:
    def delete() -> None: ...

    with pytest.raises(ConfigurationError, match="approval of the tool 'delete'"):
        Tool(delete, approval=approval)
    with pytest.raises(ConfigurationError, match="approval of the tool 'delete'"):
        Tool(delete).but(approval=approval)


@pytest.mark.parametrize("message", ["Delete {table}?", "Delete {?", "Delete {}?", "{name.x}?"])
def test_a_message_that_can_not_be_written_is_told_before_anybody_talks(message: str) -> None:
    def delete() -> None: ...

    with pytest.raises(ConfigurationError, match="message of the tool 'delete'"):
        Tool(delete, message=message)


def nameless(a: int, /) -> None: ...


def unwritable(connection: object, callback: type[Any]) -> None: ...


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([nameless], "parameters without a name"),
        ([unwritable], "can't be described to a model"),
        ([plain, plain], "Two tools are called 'plain'"),
        ([AskUser(), AskUser()], "Two tools are called 'ask_user'"),
        (["plain"], "A tool is a function, not 'plain'"),
    ],
)
def test_what_is_no_tool_is_told_before_anybody_talks(tools: list[Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ChatAgent("m", tools=tools, api_key="k")
