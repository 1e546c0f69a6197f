"""A yes and a no in an endpoint's own shape, where it approves a tool call by another than AG-UI's.

People answer `{"approved": true | false}`, as to every approval; the endpoint gets what its schema
names: AG2 a bare boolean, others one of two words. What is not surely a yes or a no is none here:
of `{"type": "object", "properties": {"skip": {"type": "boolean"}}}` a true would be a no.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import Approve, Decision, Decline
from agui_bridge.protocol.answers.forms import resolve_schema
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema, find_schema_fault
from agui_bridge.protocol.threads.records import Json

_YES: Final = {
    "y", "yes", "true", "approve", "approved", "approve_once", "accept", "accepted", "allow",
    "allowed", "allow_once", "confirm", "confirmed", "grant", "granted", "permit", "permitted",
}  # fmt: skip
_NO: Final = {
    "n", "no", "false", "reject", "rejected", "reject_once", "decline", "declined", "deny",
    "denied", "deny_once", "refuse", "refused", "disallow", "disallowed",
}  # fmt: skip
"""Options, whatever their case, of which one is the yes and one the no."""

_SAYS_YES: Final = {
    "approve", "approved", "approval", "accept", "accepted", "allow", "allowed", "confirm",
    "confirmed", "confirmation", "grant", "granted", "permit", "permitted", "proceed", "yes", "ok",
    "answer", "decision", "response", "value", "verdict",
}  # fmt: skip
"""Members whose true means that the call may run."""

_REASON: Final = "reason"
_ANY_TEXT: Final = frozenset({"type", "title", "description", "default"})
"""Keywords of a schema that takes any text."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What an endpoint takes for a yes and for a no.

    Attributes:
        yes: the payload of an approval.
        no: that of a decline, and of a cancel where the endpoint knows none.
        reasoned: whether a `reason` may stand beside the no.
    """

    yes: Json
    no: Json
    reasoned: bool = False

    def payload(self, decision: Decision) -> Json:
        """A decision on an approval in the endpoint's shape."""
        if isinstance(decision, Approve):
            return self.yes
        if self.reasoned and isinstance(decision, Decline) and decision.reason:
            return {**self.no, _REASON: decision.reason}
        return self.no

    def to_json(self) -> list[Json]:
        """What a continuation keeps of them."""
        return [self.yes, self.no, self.reasoned]


def verdicts_of(schema: Mapping[str, Json] | None) -> Verdicts | None:
    """Read the yes and the no off a response schema; None where they are not certain.

    Args:
        schema: of the endpoint's question about a call; None is the shape of AG-UI.
    """
    if schema is None:
        return None
    try:
        check_schema(schema)
    except UnsafeSchema:
        return None
    found = _in_object(schema) or _in_value(schema, schema)
    if found is None:
        return None
    # Whatever else the schema asks for, both must be answers to it.
    fits = all(find_schema_fault(schema, value) is None for value in (found.yes, found.no))
    return found if fits else None


def _in_object(schema: Mapping[str, Json]) -> Verdicts | None:
    properties = resolve_schema(schema, schema).get("properties")
    if not isinstance(properties, Mapping):
        return None
    found = {
        name: verdicts
        for name, member in properties.items()
        if (verdicts := _in_value(schema, member)) is not None
        and (verdicts.yes is not True or name.casefold() in _SAYS_YES)
    }
    if len(found) != 1:
        return None
    ((name, value),) = found.items()
    reason = resolve_schema(schema, properties.get(_REASON))
    reasoned = reason.get("type") == "string" and reason.keys() <= _ANY_TEXT
    return Verdicts({name: value.yes}, {name: value.no}, reasoned)


def _in_value(root: Mapping[str, Json], schema: Json) -> Verdicts | None:
    options: list[Json] = []
    is_boolean = False
    for one in _alternatives(root, schema):
        listed = [one["const"]] if "const" in one else one.get("enum")
        if isinstance(listed, Sequence):
            options += listed
        else:
            kinds = one.get("type")
            is_boolean |= "boolean" in ([kinds] if isinstance(kinds, str) else kinds or ())
    if is_boolean or (any(o is True for o in options) and any(o is False for o in options)):
        return Verdicts(True, False)
    yes, no = _worded(options, _YES), _worded(options, _NO)
    return Verdicts(yes[0], no[0]) if len(yes) == len(no) == 1 else None


def _alternatives(root: Mapping[str, Json], schema: Json) -> Iterator[Mapping[str, Any]]:
    """What a value may be, one level of alternatives deep."""
    whole = resolve_schema(root, schema)
    yield whole
    for word in ("anyOf", "oneOf"):
        for one in whole.get(word) or ():
            yield resolve_schema(root, one)


def _worded(options: Sequence[Json], words: Collection[str]) -> list[str]:
    return [
        option
        for option in options
        if isinstance(option, str) and option.strip().casefold().replace("-", "_") in words
    ]
