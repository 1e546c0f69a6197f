"""The specification's streams, side by side: the reference client, and ours.

What a stream is worth is theirs to say: each verdict, its reason, and the messages and state after
it are what `@ag-ui/client` makes of the same bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from tests.client.raw_server import raw_server, sse
from tests.client.reading import read
from tests.e2e.clients import Driver
from tests.support.random_streams import random_streams
from tests.support.specification import CASES, Seen, expected, faults_of

OLDER: Final = {"1.2": "1.1", "1.1": "1.0"}
"""The reference client that is published speaks 1.0: what the cases say of 1.1 is said of that."""


def as_of_1_0(name: str) -> dict[str, Any]:
    """A case in which every version is the one before."""
    case = dict(CASES[name])
    for event in (stream := json.loads(json.dumps(case["stream"]))):
        if (declared := event.get("protocolVersion")) in OLDER:
            event["protocolVersion"] = OLDER[declared]
    expect = dict(case["expect"])
    expect["warnings"] = [OLDER.get(said, said) for said in expect.get("warnings", ())]
    if (declared := expect.get("request", {}).get("protocolVersion")) is not None:
        expect["request"] = {"protocolVersion": OLDER[declared]}
    return {**case, "stream": stream, "expect": expect}


@pytest.fixture(scope="module")
def reference() -> Iterator[Driver]:
    driver = Driver("1.0.0", script="specification.mjs")
    yield driver
    driver.close()


async def theirs(reference: Driver, case: Mapping[str, Any]) -> Seen:
    """What the reference client makes of a case."""
    given = {**case.get("input", {}), **case.get("client", {})}
    async with raw_server(sse(*case["stream"])) as server:
        reply = reference.send("read", url=server.url, **given)
        result = await asyncio.to_thread(reply.result)
    seen: dict[str, Any] = {key: result.get(key) for key in Seen.__dataclass_fields__}
    return Seen(**seen)


def _named(messages: Sequence[Any], case: Mapping[str, Any]) -> list[Any]:
    """Messages with the ids that the case has; others are their client's own."""
    text = json.dumps(case)
    return [m if json.dumps(m["id"]) in text else {**m, "id": "own"} for m in messages]


@pytest.mark.parametrize("name", CASES)
async def test_the_reference_client_makes_of_it_what_the_file_says(
    name: str, reference: Driver
) -> None:
    case = as_of_1_0(name)
    assert faults_of(await theirs(reference, case), expected(case, here=False)) == []


@pytest.mark.parametrize("name", CASES)
async def test_both_clients_make_the_same_of_it(
    name: str, reference: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    case = as_of_1_0(name)
    one, other = await theirs(reference, case), await read(case, caplog)
    assert (one.refusal is None) == (other.refusal is None), (one.refusal, other.refusal)
    # What reached the application before a refusal is up to the pace of the connection.
    if one.refusal is None and "here" not in case:
        assert _named(other.messages, case) == _named(one.messages, case)
        assert other.state == one.state or (other.state, one.state) == (None, {})
        assert [e["type"] for e in other.events] == [e["type"] for e in one.events]


@pytest.mark.parametrize("seed", range(8))
async def test_both_clients_judge_streams_at_random_alike(
    seed: int, reference: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    for stream in random_streams(seed, 20):
        case = {"stream": stream}
        one, other = await theirs(reference, case), await read(case, caplog)
        if "stream ended before the run did" in (other.refusal or ""):
            # A run that nobody ended is told by ours alone: whether it goes on is unknown.
            other.refusal = None
        assert (one.refusal is None) == (other.refusal is None), (
            one.refusal,
            other.refusal,
            json.dumps(stream),
        )
