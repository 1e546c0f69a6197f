"""Arguments of a call: JSON, and the values that the framework makes of it for a tool."""

from __future__ import annotations

import copy
import datetime
import decimal
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from agent_framework import FunctionInvocationContext, FunctionMiddleware, FunctionTool
from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import to_jsonable_python

from agui_bridge.protocol.threads.records import Json


def as_json(values: Mapping[str, Any] | BaseModel) -> dict[str, Json]:
    """Values as JSON; what has no such form as its text."""
    plain = values.model_dump() if isinstance(values, BaseModel) else dict(values)
    made: dict[str, Json] = to_jsonable_python(plain, fallback=str)
    return made


def values_of(tool: FunctionTool, args: Mapping[str, Json]) -> dict[str, Any]:
    """What the framework calls a tool with: values of its parameters' types, and nothing else.

    Arguments that do not fit stay as they are: the framework says what is wrong with them.
    """
    if tool.input_model is None:
        # Its schema is the author's: nothing is converted.
        return dict(args)
    try:
        return tool.input_model.model_validate(dict(args)).model_dump(exclude_unset=True)
    except ValidationError:
        return dict(args)


def names_of(agent: Any) -> set[str]:
    """Names of an agent's own tools, as far as they are known before it runs."""
    options = getattr(agent, "default_options", None) or {}
    return {tool.name for tool in options.get("tools") or () if isinstance(tool, FunctionTool)}


def parameters_of(tool: FunctionTool) -> dict[str, Json]:
    """The schema of what people may change arguments to.

    What a model of the tool's parameters does not know it drops in silence: nobody approves that.
    """
    schema: dict[str, Json] = tool.parameters()
    if tool.input_model is None:
        return schema
    inner = schema.get("$defs")
    closed = {"$defs": {name: _closed(one) for name, one in inner.items()}} if inner else {}
    return _closed({**schema, **closed})


def _closed(schema: dict[str, Json]) -> dict[str, Json]:
    is_open = "properties" in schema and "additionalProperties" not in schema
    return {**schema, "additionalProperties": False} if is_open else schema


# --- values that the framework can't compare ---


class StandIn(FunctionTool):
    """Stands for a tool whose arguments the framework can't compare with what was approved.

    With middleware before a tool, and the bridge's is always there, the framework refuses an
    approval of an `Enum`, a `Path` and the like. It compares this one's arguments, which are JSON;
    the tool itself makes its values of them.

    Args:
        tool: the tool.

    Attributes:
        tool: see above.
    """

    def __init__(self, tool: FunctionTool) -> None:
        self.tool = tool
        model: Any = tool.input_model

        async def invoke(ctx: FunctionInvocationContext, **arguments: Json) -> Any:
            own = FunctionInvocationContext(
                tool, arguments, ctx.session, kwargs=ctx.kwargs, tools=ctx.tools
            )
            return await tool.invoke(arguments=arguments, context=own, skip_parsing=True)

        super().__init__(
            name=tool.name,
            description=tool.description,
            approval_mode=tool.approval_mode,
            kind=tool.kind,
            additional_properties=tool.additional_properties,
            func=invoke,
            input_model=create_model(model.__name__, __base__=(_AsJson, model)),
            result_parser=tool.result_parser,
        )


class Approved:
    """Arguments that a person approved, as the tool is called with them.

    Args:
        tool: the tool.

    Attributes:
        values: what it is called with, once they have been `validated`.
    """

    def __init__(self, tool: FunctionTool) -> None:
        self.values: dict[str, Any] = {}
        self._tool = tool.tool if isinstance(tool, StandIn) else tool

    def validated(self, args: Mapping[str, Json]) -> Mapping[str, Json]:
        """Make values of them; gives these as JSON.

        Args:
            args: what was approved.
        """
        self.values = values_of(self._tool, args)
        return as_json(self.values)


class ValuesForMiddleware(FunctionMiddleware):
    """Gives an agent's own middleware the values that a stand-in's tool is called with."""

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Do so, and go on."""
        given = context.arguments
        if not isinstance(context.function, StandIn) or not isinstance(given, Mapping):
            await call_next()
            return
        context.arguments = values_of(context.function.tool, given)
        try:
            await call_next()
        finally:
            # What was approved is compared once more where the tool was not called.
            context.arguments = given


class _AsJson(BaseModel):
    """A model whose values are JSON once it has checked them."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return as_json(super().model_dump(**options))


def with_stand_ins(agent: Any, approved: Sequence[tuple[str, Mapping[str, Json]]]) -> Any:
    """The agent, or a copy of it with stand-ins for its tools that need one.

    Args:
        agent: the agent.
        approved: name and arguments of each call that was approved.
    """
    options = getattr(agent, "default_options", None) or {}
    tools = options.get("tools") or []
    found = [StandIn(tool) if _needs_one(tool, approved) else tool for tool in tools]
    if not any(isinstance(tool, StandIn) for tool in found):
        return agent
    own = copy.copy(agent)
    own.default_options = {**options, "tools": found}
    others = [one for one in agent.middleware or () if not isinstance(one, ValuesForMiddleware)]
    own.middleware = [ValuesForMiddleware(), *others]
    return own


def _needs_one(tool: Any, approved: Sequence[tuple[str, Mapping[str, Json]]]) -> bool:
    if not isinstance(tool, FunctionTool) or isinstance(tool, StandIn):
        return False
    called = [values_of(tool, args) for name, args in approved if name == tool.name]
    # Where JSON makes other values, as that of a secret does, it can't stand for them.
    return not all(map(_is_comparable, called)) and all(
        values_of(tool, as_json(values)) == values for values in called
    )


_ANY_SUBCLASS: Final = (bool, int, float, str, bytes)
_EXACTLY: Final = {
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    type(None),
}


def _is_comparable(value: Any) -> bool:
    """Whether the framework compares a value with one that was approved."""
    if isinstance(value, dict):
        return all(_is_comparable(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_comparable, value))
    return isinstance(value, _ANY_SUBCLASS) or type(value) in _EXACTLY
