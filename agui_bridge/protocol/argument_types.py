"""Arguments of another type than their annotation are refused at the line that passes them.

Type hints bind nobody in Python, and what takes a wrong argument mostly fails much later, in a
request or a run. The rules are read off the annotations, once, at the first call.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from enum import Enum
from typing import Any, Final, Literal, TypeVar, cast

from agui_bridge.errors import BridgeError, ConfigurationError
from agui_bridge.protocol.field_rules import OBJECT, FieldRule, is_a, refuse_unfit, sequence_of

F = TypeVar("F", bound=Callable[..., Any])

_DATA: Final = (str, bytes, int, float, Sequence, AbstractSet, type(None))
"""What stands for no type, where one is meant: `list[int]` and `int | None` are no classes."""


def checked_arguments(
    label: str,
    *,
    error: type[BridgeError] = ConfigurationError,
    secret: Sequence[str] = (),
) -> Callable[[F], F]:
    """Have a function refuse arguments that are not what their annotations say (decorator).

    What it takes as `*args` and `**kwargs` is not looked at.

    Args:
        label: what people call the function, such as `bridge.add`.
        error: what is raised; it names the argument, what it must be, and what it is.
        secret: arguments of which nothing but their type is told.
    """

    def decorate(function: F) -> F:
        @functools.cache
        def rules() -> tuple[list[tuple[str, FieldRule]], dict[str, FieldRule]]:
            hints = typing.get_type_hints(function)
            parameters = inspect.signature(function).parameters.values()
            known = [(p, rule_of(hints.get(p.name, Any))) for p in parameters]
            by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            return (
                [(p.name, rule) for p, rule in known if p.kind in by_place],
                {p.name: rule for p, rule in known if p.kind in by_name},
            )

        def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            places, names = rules()
            for (name, rule), value in zip(places, args, strict=False):
                if not rule.fits(value):
                    refuse(name, rule, value)
            for name, value in kwargs.items():
                if name in names and not names[name].fits(value):
                    refuse(name, names[name], value)

        def refuse(name: str, rule: FieldRule, value: Any) -> None:
            refuse_unfit(f"{label}({name}=…)", rule, value, error=error, secret=name in secret)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                check(args, kwargs)
                return await function(*args, **kwargs)

            return cast(F, awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return function(*args, **kwargs)

        return cast(F, called)

    return decorate


def check_field_types(built: object, *, error: type[BridgeError] = ConfigurationError) -> None:
    """Refuse a dataclass's instance with a field that is not what its annotation says.

    Of a field that `repr` leaves out, a secret, nothing but its type is told.

    Args:
        built: the instance.
        error: what is raised; it names the field, what it must be, and what it is.

    Raises:
        BridgeError: of the kind `error`.
    """
    kind: Any = type(built)
    for name, rule, secret in _fields_of(kind):
        value = getattr(built, name)
        if not rule.fits(value):
            where = f"{type(built).__name__}.{name}"
            refuse_unfit(where, rule, value, error=error, secret=secret)


@functools.cache
def _fields_of(kind: Any) -> list[tuple[str, FieldRule, bool]]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return [(each.name, rule_of(hints[each.name]), not each.repr) for each in fields]


def rule_of(hint: Any) -> FieldRule:
    """The rule that an annotation is.

    Args:
        hint: as `typing.get_type_hints` gives it. What is no type for data (a TypeVar without a
            bound, an alias of another kind) lets everything pass.
    """
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return FieldRule("anything", lambda value: True)
    if isinstance(hint, TypeVar):
        return rule_of(Any if hint.__bound__ is None else hint.__bound__)
    if origin in (typing.Union, types.UnionType):
        return _any_of([rule_of(arg) for arg in args])
    if origin is Literal:
        words = f"one of {', '.join(map(repr, args))}"
        return FieldRule(words, lambda value: (type(value), value) in [(type(a), a) for a in args])
    if origin is type:
        return _type_of(args[0])
    kind = origin or hint
    if not isinstance(kind, type):
        return FieldRule("anything", lambda value: True)
    if issubclass(kind, Callable):  # type: ignore[arg-type]  # the class in collections.abc
        return FieldRule("a function", callable)
    if issubclass(kind, Sequence) and args:
        words = "a list" if args[0] is Any else f"a list of {_noun(args[0])}"
        return sequence_of(words, rule_of(args[0]).fits)
    if issubclass(kind, Mapping):
        return _mapping_of(args)
    return _instance_of(kind)


def _type_of(kind: Any) -> FieldRule:
    if isinstance(kind, type) and kind is not Any:
        words = f"a {kind.__name__} class"
        return FieldRule(words, lambda value: isinstance(value, type) and issubclass(value, kind))
    return FieldRule("a type", lambda value: not isinstance(value, _DATA))


def _any_of(rules: Iterable[FieldRule]) -> FieldRule:
    rules = list(rules)
    *most, last = dict.fromkeys(rule.words for rule in rules)
    words = f"{', '.join(most)} or {last}" if most else last
    fits = [rule.fits for rule in rules]
    one_by_one = [rule.member_fits for rule in rules if rule.member_fits is not None]
    return FieldRule(
        words,
        lambda value: any(fit(value) for fit in fits),
        one_by_one[0] if len(one_by_one) == 1 else None,
    )


def _mapping_of(args: tuple[Any, ...]) -> FieldRule:
    """A mapping; what is wrong with a member is told of its value, for keys may be secrets."""
    if not args or args[1] is Any:
        return OBJECT
    key, value = map(rule_of, args)
    return FieldRule(
        f"a mapping of {_noun(args[0])} to {_noun(args[1])}",
        lambda found: (
            isinstance(found, Mapping)
            and all(key.fits(k) and value.fits(v) for k, v in found.items())
        ),
        value.fits,
    )


def _instance_of(kind: type) -> FieldRule:
    if issubclass(kind, Enum):
        values = ", ".join(repr(member.value) for member in kind)
        return FieldRule(f"one of {values}", lambda value: value in list(kind))
    if kind is bool:
        return FieldRule("a bool", is_a(bool))
    if kind in (int, float):
        numbers = int if kind is int else int | float
        words = "a whole number" if kind is int else "a number"
        return FieldRule(
            words, lambda value: isinstance(value, numbers) and not isinstance(value, bool)
        )
    if kind is type(None):
        return FieldRule("None", lambda value: value is None)
    article = "an" if kind.__name__[0] in "AEIOUaeiou" else "a"
    words = f"{article} {kind.__name__}"
    if getattr(kind, "_is_protocol", False):
        members = _members_of(kind)
        return FieldRule(
            words,
            lambda value: (
                not isinstance(value, type) and all(hasattr(value, name) for name in members)
            ),
        )
    return FieldRule(words, is_a(kind))


def _members_of(protocol: type) -> list[str]:
    """What an object must have to be taken for one of a protocol's."""
    own = {name for base in protocol.__mro__[:-1] for name in (*vars(base), *_annotated(base))}
    return sorted(name for name in own if not name.startswith("_"))


def _annotated(base: type) -> Iterable[str]:
    found: Mapping[str, Any] = vars(base).get("__annotations__", {})
    return found


def _noun(hint: Any) -> str:
    kind = typing.get_origin(hint) or hint
    return kind.__name__ if isinstance(kind, type) else "values"
