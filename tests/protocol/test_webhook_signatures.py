"""Signatures of webhooks, against the library of the specification's authors."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from agui_bridge.protocol.wire.webhook_signatures import is_signed, key_of, signed_headers

SECRET, OTHER = ("whsec_" + text * 8 for text in ("MfKQ", "C2FV"))
NOW = 1_800_000_000
BODY = b'{"n": 1}'


def key(secret: str = SECRET) -> bytes:
    found = key_of(secret)
    assert found is not None
    return found


def headers(secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    made = Webhook(secret).sign("id", datetime.fromtimestamp(at, UTC), BODY.decode())
    return {"webhook-id": "id", "webhook-timestamp": str(at), "webhook-signature": made}


def test_what_is_signed_here_verifies_there() -> None:
    now = int(datetime.now(UTC).timestamp())
    Webhook(OTHER).verify(BODY, signed_headers([key(), key(OTHER)], "id", now, BODY))


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (headers(), True),
        (headers(at=NOW - 299), True),
        (headers(at=NOW - 301), False),
        (headers(at=NOW + 301), False),
        (headers(OTHER), False),
        ({**headers(), "webhook-id": "other"}, False),
        ({**headers(), "webhook-timestamp": str(NOW + 1)}, False),
        ({**headers(), "webhook-timestamp": "soon"}, False),
        ({**headers(), "webhook-timestamp": "²"}, False),
        ({**headers(), "webhook-signature": "v1,none " + headers()["webhook-signature"]}, True),
        ({**headers(), "webhook-signature": "é"}, False),
        ({}, False),
    ],
)
def test_what_was_signed_there_lately_counts_here(given: dict[str, str], counts: bool) -> None:
    assert is_signed([key()], given, BODY, NOW) is counts
    assert not is_signed([key()], given, BODY + b" ", NOW)
    assert not is_signed([], given, BODY, NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ" * 8, "whsec_é"])
def test_a_secret_that_is_none_has_no_key(secret: str) -> None:
    assert key_of(secret) is None
