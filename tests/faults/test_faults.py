"""Whatever fails: nothing acknowledged is lost, nothing is executed twice, no thread is bricked."""

from __future__ import annotations

import pytest

from tests.faults.expected import GROUPS
from tests.faults.scenario import Replicas, play
from tests.faults.seen import Seen

pytestmark = pytest.mark.timeout(180)

SOME = {
    "sqlite": [
        "kill -9 after its effect",
        "disk full at the claim",
        "clock jumps an hour ahead in the tool",
    ],
    "postgres": [
        "SIGSTOP before the result is stored, past the lease",
        "store restarted after the claim",
    ],
    "redis": [
        "connection cut, the claim's acknowledgement is lost",
        "kill -9 before the final commit",
    ],
}
"""One fault of each kind, and the death of a replica twice: what is played before every commit."""
ON_SERVERS = [name for name, group in GROUPS.items() if "sqlite" not in group.stores]
ON_SQLITE = [name for name, group in GROUPS.items() if group.stores == ("sqlite",)]
EVERYWHERE = [name for name in GROUPS if name not in (*ON_SERVERS, *ON_SQLITE)]


def check(replicas: Replicas, kind: str) -> None:
    """Play all faults of a kind and compare with the table."""
    group = GROUPS[kind]
    assert replicas.store in group.stores
    together = [[one] for one in group.scenarios] if group.apart else [group.scenarios]
    seen: dict[str, Seen] = {}
    for scenarios in together:
        seen |= play(replicas, scenarios)
    assert seen == group.on(replicas.store)


@pytest.mark.soak
def test_of_each_kind_of_fault_one_is_seen_as_the_table_says(replicas: Replicas) -> None:
    wanted = SOME[replicas.store]
    found = {s.name: s for group in GROUPS.values() for s in group.scenarios if s.name in wanted}
    expected = {
        name: seen
        for group in GROUPS.values()
        if replicas.store in group.stores
        for name, seen in group.on(replicas.store).items()
        if name in wanted
    }

    assert play(replicas, [found[name] for name in wanted]) == expected


@pytest.mark.soak
@pytest.mark.parametrize("replicas", ["sqlite"], indirect=True)
def test_a_locked_file_is_waited_for(replicas: Replicas) -> None:
    (moment, _) = GROUPS["lock"].scenarios

    assert play(replicas, [moment]) == {moment.name: GROUPS["lock"].seen[moment.name]}


@pytest.mark.soak
@pytest.mark.parametrize("kind", EVERYWHERE)
def test_on_every_store_it_is_seen_what_the_table_says(replicas: Replicas, kind: str) -> None:
    check(replicas, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ON_SQLITE)
@pytest.mark.parametrize("replicas", ["sqlite"], indirect=True)
def test_in_a_file_it_is_seen_what_the_table_says(replicas: Replicas, kind: str) -> None:
    check(replicas, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ON_SERVERS)
@pytest.mark.parametrize("replicas", ["postgres", "redis"], indirect=True)
def test_on_a_server_it_is_seen_what_the_table_says(
    replicas: Replicas, restartable: Replicas, kind: str
) -> None:
    check(restartable if GROUPS[kind].restarts else replicas, kind)


def test_every_fault_that_is_played_has_its_row_and_every_row_is_played() -> None:
    for group in GROUPS.values():
        assert sorted(scenario.name for scenario in group.scenarios) == sorted(group.seen)
        assert {name for _, name in group.otherwise} <= set(group.seen)


def test_nothing_is_executed_twice_and_no_success_is_told_without_execution() -> None:
    for group in GROUPS.values():
        for store in group.stores:
            for name, seen in group.on(store).items():
                assert seen.executed <= 1, name
                assert "success" not in (seen.client, seen.again) or seen.executed == 1, name
