"""Sealing: what a change does to questions, and what it redacts, as rows of the thread's chain.

The rows go into the very commit that they tell of, so that neither can be without the other. Their
order is the thread's: whoever commits holds its last row, by compare-and-swap or by the lease.

A commit also seals what it finds of a question's history without a row. Such a row is `late`: the
bridge did not see it happen, and `verifying` does not believe it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from agui_bridge.errors import ConfigurationError
from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.record_parts import AuditRow, ChainHead, Redaction
from agui_bridge.protocol.threads.records import AuditEntry, Interrupt, Json, ThreadKey, Vote

# --- the keys that rows of the audit chain are sealed with ---

_LEAST: Final = 32
"""Characters: as many as `secrets.token_hex(16)` has, 128 bits."""


class AuditKeys:
    """Keys of the audit chain: the first seals, all of them verify.

    Args:
        keys: secrets of 32 characters or more, newest first.

    Raises:
        ConfigurationError: there is none, one is too short, or stands there twice.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys or isinstance(keys, str):
            raise ConfigurationError("audit keys: give a list of one key or more, newest first.")
        for number, key in enumerate(keys, 1):
            if len(key) < _LEAST:
                raise ConfigurationError(
                    f"audit keys: key {number} has less than {_LEAST} characters. Make one with "
                    "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
                )
        self._keys = {_id_of(key): key.encode() for key in keys}
        if len(self._keys) < len(keys):
            raise ConfigurationError("audit keys: a key stands there twice.")
        self.newest: str = next(iter(self._keys))
        """Id of the key that seals."""

    def knows(self, key_id: object) -> bool:
        """Whether there is a key of this id."""
        return key_id in self._keys

    def mac(self, key_id: str, row: Json) -> str:
        """The seal of a row: HMAC-SHA256 of its canonical JSON, in hexadecimal digits."""
        return hmac.digest(self._keys[key_id], canonical_json(row), "sha256").hex()

    def digest(self, key_id: str, content: Json) -> str:
        """A digest of what a row must not tell: of arguments, a message, an answer.

        Keyed, since a short content could be guessed from a plain digest.
        """
        text = b"digest:" + canonical_json(content)
        return hmac.digest(self._keys[key_id], text, "sha256").hex()

    def __repr__(self) -> str:
        return f"AuditKeys({', '.join(self._keys)})"


def _id_of(key: str) -> str:
    """A name of a key that tells nothing of it."""
    return hashlib.sha256(b"agui-bridge audit key:" + key.encode()).hexdigest()[:8]


# --- canonical JSON as RFC 8785 writes it: the same value is the same bytes, in every language ---
#
# One case is ours: RFC 8785 knows no integers beyond 2^53, which Python and tools have; they are
# written with all their digits. A lone surrogate, which no Unicode text has, keeps its three bytes.

_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode

_PLAIN_FROM: Final = -6
_PLAIN_UP_TO: Final = 21
"""Exponents between which ECMAScript writes a number without one."""


def canonical_json(value: Any) -> bytes:
    """Write a JSON value as RFC 8785 says.

    Args:
        value: dicts with string keys, lists or tuples, strings, numbers, booleans, None.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: it is no JSON value.
    """
    return "".join(_pieces(value)).encode("utf-8", "surrogatepass")


def _pieces(value: Any) -> Iterator[str]:
    if value is None or isinstance(value, bool | str):
        yield _encoded(value)
    elif isinstance(value, int):
        yield str(int(value))
    elif isinstance(value, float):
        yield _number(value)
    elif isinstance(value, Mapping):
        mark = "{"
        for key in sorted(value, key=_utf16):
            yield f"{mark}{_encoded(key)}:"
            yield from _pieces(value[key])
            mark = ","
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        mark = "["
        for item in value:
            yield mark
            yield from _pieces(item)
            mark = ","
        yield "]" if value else "[]"
    else:
        raise TypeError(f"not a JSON value: {type(value).__name__}")


def _utf16(key: Any) -> bytes:
    """What keys are sorted by: their UTF-16 code units."""
    if not isinstance(key, str):
        raise TypeError(f"a key of an object is no text: {key!r:.80}")
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """A number as ECMAScript writes it (Number::toString)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no NaN and no Infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # Python's shortest digits are ECMAScript's; only the point and the exponent stand elsewhere.
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction if fraction != "0" else ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if _PLAIN_FROM < point <= _PLAIN_UP_TO:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    power = point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"


# --- the seal ---

REDACTED: Final = "redacted"
"""The event of a row that is about no question: an agent put other words in a message's place."""

LATE: Final = "late"
"""A member that is true in the row of an entry from before the commit that sealed it."""

# ASCII, since every database takes it; what is sealed is the row's canonical form.
_text: Final[Callable[[Json], str]] = json.JSONEncoder(separators=(",", ":")).encode


def seal(key: ThreadKey, change: Change, write_id: str, keys: AuditKeys) -> Change:
    """Add the rows of a change to it, and the chain's new end to its record.

    Args:
        key: the thread.
        change: what is about to be committed, made from the record as it is stored.
        write_id: of the commit; names a chain that begins, so that a retry writes the same rows.
        keys: the newest seals.

    Returns:
        The change itself where it has nothing new about any question, and redacts nothing.
    """
    record = change.record
    batch = record.batch.id if record.batch is not None else None
    before = record.chain or ChainHead(write_id, 0, "")
    sealed = dict(before.sealed) if before.batch == batch else {}
    rows: list[AuditRow] = []
    seq, mac = before.seq, before.mac

    def add(at: float, told: Mapping[str, Json]) -> None:
        nonlocal seq, mac
        seq += 1
        place = {"chain": before.chain, "seq": seq, "prev": mac, "key": keys.newest}
        row: dict[str, Json] = {**place, **told}
        row["mac"] = mac = keys.mac(keys.newest, row)
        rows.append(AuditRow(row_id(before.chain, seq), at, _text(row)))

    # First: the questions of the same commit are asked after it.
    for redaction in change.redactions:
        add(redaction.at, _told_of_redaction(key, redaction, keys))
    for ask in {ask.id: ask for ask in change.interrupts}.values():
        first = _sealed_of(ask, before, batch)
        for index, entry in _from(ask, first):
            told = told_of(key, ask, index, entry, keys, keys.newest)
            add(entry.at, told if entry.at == ask.audit[-1].at else {**told, LATE: True})
        if ask.batch == batch:
            sealed[ask.id] = len(ask.audit)
    if not rows:
        return change
    head = replace(before, seq=seq, mac=mac)
    if change.interrupts:
        head = replace(head, batch=batch, sealed=sealed)
    return replace(change, record=replace(record, chain=head), audit=tuple(rows))


def told_of(
    key: ThreadKey,
    ask: Interrupt,
    index: int,
    entry: AuditEntry,
    keys: AuditKeys,
    key_id: str,
) -> dict[str, Json]:
    """What a row tells of one entry of a question's history.

    Args:
        key: the thread.
        ask: the question, as it is after the entry.
        index: the entry's place in its history.
        entry: the entry.
        keys: make the digests.
        key_id: which of them.
    """
    call = ask.tool_call
    answer = _answer_of(ask, index, entry)
    terms = [list(ask.allowed), _plain(ask.response_schema), list(ask.joined_by)]
    if ask.preview is not None:
        terms.append(ask.preview.to_json())
    votes: list[Json] = [plain_vote(vote) for vote in ask.votes]
    return {
        "scope": key.scope,
        "agent": key.agent,
        "thread": key.thread,
        "interrupt": ask.id,
        "entry": index,
        "status": entry.status.value,
        "event": entry.event,
        "at": entry.at,
        "actor": entry.actor,
        "via": entry.via,
        "rule": entry.rule,
        "askedBy": ask.asked_by,
        "tool": call and call.name,
        "args": call and keys.digest(key_id, dict(call.args)),
        "message": ask.message and keys.digest(key_id, ask.message),
        "answer": answer and keys.digest(key_id, answer),
        "terms": keys.digest(key_id, terms),
        "ruling": ask.rule and keys.digest(key_id, _plain_rule(ask.rule)),
        "votes": votes and keys.digest(key_id, votes),
        "vote": next((keys.digest(key_id, v) for v in votes if v[0] == entry.actor), None),
    }


def _told_of_redaction(key: ThreadKey, redaction: Redaction, keys: AuditKeys) -> dict[str, Json]:
    """What a row tells of words that were taken back: where, when, and digests of them."""
    return {
        "scope": key.scope,
        "agent": key.agent,
        "thread": key.thread,
        # Of no question. Versions that know no such row look for these members.
        "interrupt": None,
        "entry": None,
        "status": None,
        "event": REDACTED,
        "at": redaction.at,
        "actor": "agent",
        "via": None,
        "rule": None,
        "askedBy": redaction.asked_by,
        "run": redaction.run,
        "messageId": redaction.message,
        "before": keys.digest(keys.newest, redaction.before),
        "after": keys.digest(keys.newest, redaction.after),
    }


def plain_vote(vote: Vote) -> list[Json]:
    """All that a vote says, as JSON."""
    given = [vote.answer.status, vote.answer.payload]
    return [vote.actor, sorted(vote.roles), given, vote.args_digest, vote.at, vote.via]


def _plain_rule(rule: ApprovalRule) -> Json:
    """What a rule says beyond the defaults: a field that a later version adds changes nothing."""
    said = asdict(rule)
    return {it.name: said[it.name] for it in fields(rule) if said[it.name] != it.default}


def _plain(schema: Mapping[str, Json] | None) -> Json:
    return None if schema is None else dict(schema)


def row_id(chain: str, seq: int) -> str:
    """The name of a row within its thread."""
    return f"{chain}.{seq:09d}"


def _sealed_of(ask: Interrupt, before: ChainHead, batch: str | None) -> int:
    """How many entries of a question's history have rows already."""
    if ask.batch == before.batch:
        return before.sealed.get(ask.id, 0)
    if ask.batch == batch:
        return 0
    # Its pause was over before: a result that was late is one entry.
    return len(ask.audit) - 1


def _from(ask: Interrupt, first: int) -> Iterator[tuple[int, AuditEntry]]:
    return iter(list(enumerate(ask.audit))[max(first, 0) :])


def _answer_of(ask: Interrupt, index: int, entry: AuditEntry) -> list[Json] | None:
    """The answer that an entry is about: a vote's, else the question's where it is the last."""
    given = ask.answer if index == len(ask.audit) - 1 else None
    if entry.event == "voted":
        votes = [vote.answer for vote in ask.votes if vote.actor == entry.actor]
        given = votes[-1] if votes else None
    return None if given is None else [given.status, given.payload]
