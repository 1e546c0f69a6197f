"""What AG-UI's types describe, and what somebody sends besides.

Both are read from the `ag_ui` package that is installed, so that a member which a newer one
declares is known here at once. What versions add to an older package is in `protocol.versions`.

Three things are told apart, as AG-UI 1.1, processing, has them: a member that is not described and
a member of a union that is not described are left out, with a note; a described member with another
value than it may have is a fault.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from ag_ui.core import BaseEvent, Event, EventType
from ag_ui.core.events import StateDeltaEvent
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.versions import BESIDE, CARRIERS, no_text

# --- the rules of a stream as data ---
#
# What each asks for, and what a relay does where it is broken.
#
# The order of one run's events is the specification's; that a consumer refuses a stream which
# breaks it is the reference client's, `@ag-ui/client` 1.0.0, whose reasons these are.
#
# Source: AG-UI 1.1, lifecycle, streaming, subagents, processing.

Remedy: TypeAlias = Literal["drop", "keep", "supply", "refuse"]
"""What `repair` makes of an event that breaks a rule.

`drop` leaves it out, `keep` takes it as it is meant, `supply` tells first what is missing. `refuse`
is for what nobody can guess: who said it, which call it belongs to, what would be carried out.
"""


@dataclass(frozen=True, slots=True)
class StreamRule:
    """What is asked of a stream.

    Attributes:
        says: the rule, as a sentence.
        remedy: for an event that breaks it.
    """

    says: str
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class Fault:
    """One break of a rule.

    Attributes:
        rule: a key of STREAM_RULES.
        message: what is wrong, with the event's type and ids.
    """

    rule: str
    message: str


STREAM_RULES: Final[Mapping[str, StreamRule]] = MappingProxyType(
    {
        "shape": StreamRule("A member that AG-UI has holds what AG-UI says.", "refuse"),
        "run.first": StreamRule("A stream begins with RUN_STARTED or RUN_ERROR.", "keep"),
        "run.nested": StreamRule("A run begins when the one before it has ended.", "keep"),
        "run.finished": StreamRule(
            "After RUN_FINISHED comes a new run, a late RUN_ERROR, or nothing.", "drop"
        ),
        "run.failed": StreamRule("After RUN_ERROR comes a new run, or nothing.", "drop"),
        "run.open": StreamRule("A run finishes when all that it opened is closed.", "supply"),
        "run.unended": StreamRule("A stream ends with the end of its run.", "refuse"),
        "start.twice": StreamRule("What is open is not opened again.", "drop"),
        "content.unopened": StreamRule("Content belongs to a message that is open.", "supply"),
        "arguments.unopened": StreamRule("Arguments belong to a call that is open.", "refuse"),
        "end.unopened": StreamRule("What is closed was open.", "drop"),
        "step.twice": StreamRule("A step of an owner's begins once before it ends.", "drop"),
        "step.unstarted": StreamRule("A step is finished by who started it.", "drop"),
        "owner": StreamRule("What somebody opened nobody else goes on with.", "refuse"),
        "subagent.twice": StreamRule("The id of a sub-agent's run is used once in a run.", "drop"),
        "subagent.unstarted": StreamRule("A sub-agent that ends was announced.", "drop"),
        "subagent.parent": StreamRule("A sub-agent's parent was announced before it.", "keep"),
        "chunk.unnamed": StreamRule("The first chunk of a message names it.", "supply"),
        "chunk.call": StreamRule("The first chunk of a call names call and tool.", "refuse"),
        "chunk.ambiguous": StreamRule("A chunk without id or owner can mean one thing.", "refuse"),
        "chunk.differs": StreamRule("A chunk says nothing else than the first one did.", "keep"),
        "chunk.tool": StreamRule("A chunk names no other tool than the first one did.", "refuse"),
    }
)


# --- shapes ---

EVENT_TYPES: Final = frozenset(kind.value for kind in EventType)

MAY_BE_NULL: Final = frozenset({"snapshot", "value", "event", "result", "rawEvent"})
"""Members for which null is a value. Elsewhere older producers write it for what is absent."""


class _Dropped:
    """Stands for a value that is of no described member of its union."""


_DROPPED: Final = _Dropped()

Path: TypeAlias = str
_Walk: TypeAlias = Callable[[Any, Path, list[Path], bool], Any]
"""Gives a value without what is not described, appending the paths of that; or `_DROPPED`.

The last argument: whether members of objects are left out too, or of unions only.
"""


@cache
def _event() -> TypeAdapter[Any]:
    # Made once somebody else's events are judged: it takes longer than the import of all else here.
    return TypeAdapter(Event)


def without_unknown(event: WireEvent, *, members: bool = True) -> tuple[WireEvent, list[Path]]:
    """An event without what AG-UI's types do not describe.

    Args:
        event: of a type of EVENT_TYPES.
        members: whether members of objects are left out too; else only what is of no described
            member of its union, such as a content part of a new type.

    Returns:
        The event, itself if nothing was left out, and the paths of what was.
    """
    paths: list[Path] = []
    found = _EVENTS[event["type"]](event, "", paths, members)
    return (found, paths) if paths else (event, paths)


@cache
def wire_names(model: type[BaseModel]) -> frozenset[str]:
    """The members that a type has on the wire, those of later versions included."""
    names = {_alias(name, field) for name, field in model.model_fields.items()}
    return frozenset(names | {more for one, more in BESIDE.items() if one in names})


def shape_fault(event: WireEvent) -> Fault | None:
    """What is wrong with the described members of an event.

    Args:
        event: as `without_unknown` gives it.
    """
    try:
        _event().validate_python(event, strict=True)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False):
            if not _is_whole(fault):
                where = ".".join(str(step) for step in fault["loc"][1:]) or "type"
                return Fault("shape", f"{event['type']}: {where}: {_expected(fault)}")
    if event["type"] in CARRIERS:
        listed = event.get("messages")
        if member := no_text((event,) if listed is None else listed):
            return Fault("shape", f"{event['type']}: {member}: Input should be a valid string")
    return None


def model_of(event: WireEvent) -> BaseEvent:
    """The object of `ag_ui` for an event without fault, with all that it carries.

    What its type does not describe stands in it as it came.
    """
    model: BaseEvent
    try:
        # Members of objects that are not described are let through here, those of unions are not.
        model = _event().validate_python(event)
        return model
    except ValidationError:
        known, paths = without_unknown(event, members=False)
    model = _event().validate_python(known)
    for member in {path.split("/")[1] for path in paths}:
        name = next(n for n, f in type(model).model_fields.items() if _alias(n, f) == member)
        # Not by attribute, which may validate.
        model.__dict__[name] = event[member]
    return model


def _is_whole(fault: Any) -> bool:
    """Whether a number is whole, though written with a point, which JSON does not tell apart."""
    value = fault["input"]
    return fault["type"] == "int_type" and isinstance(value, float) and value.is_integer()


def _expected(fault: Any) -> str:
    message: str = fault["msg"]
    if isinstance(fault["input"], list) and fault["type"] == "model_attributes_type":
        return "expected object, received array"
    if fault["type"] == "literal_error":
        return "expected " + message.removeprefix("Input should be ").replace("'", '"')
    return message


# --- what is described, made of the types ----------------------------------------------------


def _alias(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _walk_of(shape: Any) -> _Walk | None:
    """How values of a type are walked; None for what is taken as it is."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return _of_model(shape)
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Annotated:
        tag = next((getattr(a, "discriminator", None) for a in arguments[1:]), None)
        return _of_union(arguments[0], tag) if tag else _walk_of(arguments[0])
    if origin is list:
        inner = _walk_of(arguments[0])
        return None if inner is None else _of_list(inner)
    if origin in (Union, types.UnionType):
        walks = [(option, _walk_of(option)) for option in arguments]
        return _of_either({_json_kind(option): walk for option, walk in walks if walk is not None})
    return None


def _json_kind(shape: Any) -> type:
    if get_origin(shape) is Annotated:
        return _json_kind(get_args(shape)[0])
    return list if get_origin(shape) is list else dict


def _of_either(walks: Mapping[type, _Walk]) -> _Walk | None:
    """Of an optional value, and of a text or parts: by what the value is."""
    if not walks:
        return None

    def walk(value: Any, path: Path, paths: list[Path], members: bool) -> Any:
        inner = walks.get(type(value))
        return value if inner is None else inner(value, path, paths, members)

    return walk


def _of_list(inner: _Walk) -> _Walk:
    def walk(value: Any, path: Path, paths: list[Path], members: bool) -> Any:
        if not isinstance(value, list):
            return value
        kept = []
        for number, item in enumerate(value):
            mark, where = len(paths), f"{path}/{number}"
            found = inner(item, where, paths, members)
            if found is _DROPPED:
                paths[mark:] = [where]
            else:
                kept.append(found)
        return kept

    return walk


def _of_union(options: Any, tag: str) -> _Walk:
    walks: dict[Any, _Walk] = {}
    for option in get_args(options):
        for value in get_args(option.model_fields[tag].annotation):
            walks[getattr(value, "value", value)] = _of_model(option)

    def walk(value: Any, path: Path, paths: list[Path], members: bool) -> Any:
        if not isinstance(value, dict):
            return value
        found = value.get(tag)
        inner = walks.get(found) if isinstance(found, str) else None
        return _DROPPED if inner is None else inner(value, path, paths, members)

    return walk


_OPERATIONS: Final = frozenset(
    get_args(get_args(get_args(StateDeltaEvent.model_fields["delta"].annotation)[0])[0])
)
"""The operations of a patch: RFC 6902 wants members that they do not need ignored."""

_MODELS: Final[dict[type[BaseModel], _Walk]] = {}


def _of_model(model: type[BaseModel]) -> _Walk:
    if model in _MODELS:
        return _MODELS[model]
    walks: dict[str, _Walk | None] = {}
    needed: set[str] = set()
    for name, field in model.model_fields.items():
        shape: Any = field.annotation
        if field.discriminator:
            shape = Annotated[shape, field]
        alias = _alias(name, field)
        walks[alias] = _walk_of(shape)
        if field.is_required():
            needed.add(alias)
    described, is_open = wire_names(model), model in _OPERATIONS
    deep = {key: inner for key, inner in walks.items() if inner is not None}

    def walk(value: Any, path: Path, paths: list[Path], members: bool) -> Any:
        if not isinstance(value, dict):
            return value
        if members and not is_open and not described.issuperset(value):
            paths += [f"{path}/{key}" for key in value if key not in described]
            value = {key: inner for key, inner in value.items() if key in described}
        for key in [key for key in deep if key in value]:
            mark, where = len(paths), f"{path}/{key}"
            found = deep[key](value[key], where, paths, members)
            if len(paths) == mark and found is not _DROPPED:
                continue
            if found is not _DROPPED:
                value = {**value, key: found}
            elif key in needed:
                return _DROPPED
            else:
                paths[mark:] = [where]
                value = {name: inner for name, inner in value.items() if name != key}
        return value

    _MODELS[model] = walk
    return walk


def _events() -> dict[str, _Walk]:
    return {
        kind.value: _of_model(model)
        for model in get_args(get_args(Event)[0])
        for kind in get_args(model.model_fields["type"].annotation)
    }


_EVENTS: Final[Mapping[str, _Walk]] = _events()
