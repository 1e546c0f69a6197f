"""How much is measured: the whole, a quick look, or just enough to prove that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The counts of every scenario.

    Attributes:
        rounds: how often the contenders take turns.
        batches: batches of 100 events, encoded by each contender in a round.
        validations: resumes validated in a round.
        events: text events of one stream.
        streams: streams that each contender serves in a round.
        first_events: streams in a round whose first event is timed.
        idle_rounds: fresh processes for each contender.
        idle_streams: streams that stand open at once: some, and many.
        silence: seconds for which many of them are watched; a lease is renewed every ten.
        round_trips: interrupts answered in a round, by clients at once.
        history: messages of a short thread, and of a long one.
        chat_history: the same of threads of a chat model.
        cycles: interrupts answered one after the other on one thread.
        imports: fresh interpreters for each import.
    """

    rounds: int
    batches: int
    validations: int
    events: int
    streams: int
    first_events: int
    idle_rounds: int
    idle_streams: tuple[int, int]
    silence: float
    round_trips: tuple[tuple[int, int], ...]
    history: tuple[int, int]
    chat_history: tuple[int, int]
    cycles: int
    imports: int


FULL = Plan(
    rounds=9,
    batches=20,
    validations=300,
    events=1_000,
    streams=5,
    first_events=40,
    idle_rounds=3,
    idle_streams=(1_000, 5_000),
    silence=30,
    round_trips=((1, 40), (32, 160)),
    history=(30, 3_000),
    chat_history=(20, 400),
    cycles=100,
    imports=5,
)
QUICK = Plan(
    rounds=5,
    batches=10,
    validations=200,
    events=1_000,
    streams=2,
    first_events=20,
    idle_rounds=1,
    idle_streams=(500, 1_000),
    silence=10,
    round_trips=((1, 20), (32, 64)),
    history=(30, 3_000),
    chat_history=(20, 400),
    cycles=60,
    imports=2,
)
TINY = Plan(
    rounds=1,
    batches=1,
    validations=5,
    events=50,
    streams=1,
    first_events=2,
    idle_rounds=1,
    idle_streams=(3, 5),
    silence=0.1,
    round_trips=((1, 1), (32, 2)),
    history=(3, 30),
    chat_history=(2, 20),
    cycles=10,
    imports=1,
)
