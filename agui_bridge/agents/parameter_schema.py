"""The JSON Schema of a tool's arguments, from a model, a function's signature, or itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.records import Json


def function_adapter(function: Callable[..., Any]) -> TypeAdapter[Any]:
    """What validates the arguments of a function, and calls it with them.

    Raises:
        pydantic.PydanticUserError: the signature has a type that pydantic does not know.
    """
    # pydantic takes functions too, but its annotation says types only.
    return TypeAdapter(function)  # type: ignore[arg-type]


def parameter_schema(
    parameters: type[BaseModel] | Mapping[str, Json] | None, function: Callable[..., Any] | None
) -> dict[str, Json] | None:
    """Make the JSON Schema that edited arguments must satisfy.

    Args:
        parameters: a model, which then takes no fields that it doesn't name unless it allows
            them (`extra="allow"`), or the schema itself.
        function: read when `parameters` is None: its signature becomes the schema.

    Raises:
        UnsafeSchema: the schema is invalid or could do harm.
        pydantic.PydanticUserError: the signature has a type without a JSON form.
    """
    if isinstance(parameters, Mapping):
        schema = dict(parameters)
    elif parameters is not None:
        schema = parameters.model_json_schema()
        if schema.get("type") == "object":
            # The tool gets the arguments themselves: what the model ignores would reach it.
            schema.setdefault("additionalProperties", False)
    elif function is not None:
        schema = function_adapter(function).json_schema()
    else:
        return None
    check_schema(schema)
    return schema
