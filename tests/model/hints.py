"""A world of processes that announce to each other by `Interests`, over a network that does harm.

One thread, whose record is always reachable. Words between processes are lost, doubled and late;
processes die, stand still and are of the version before, which tells everybody of every change and
listens to nothing else. Whoever waits for a run looks at least every `POLL` seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from agui_bridge.protocol.threads.records import lease_token
from agui_bridge.stores.announcements import Interests, Told

__all__ = ["POLL", "STEP", "Rules", "World"]

POLL = 1.0
STEP = 0.3
"""The longest pause between two things that happen."""

LEASE = 6.0
LATE = (0.0, 0.0, 0.01, 0.2, 2.5)
THREAD = "thread"


@dataclass(frozen=True)
class Rules:
    """What can be left out.

    Attributes:
        interests: what each process of this version has.
        polls: whether those who wait look without a hint.
        hears_all: whether this version listens on the channel of all.
        speaks_to_all: whether it speaks there, while one of the version before is there.
    """

    interests: type[Interests] = Interests
    polls: bool = True
    hears_all: bool = True
    speaks_to_all: bool = True


@dataclass
class Process:
    """One process; without `interests` it is of the version before."""

    name: str
    interests: Interests | None
    alive: bool = True
    still_until: float = 0.0
    looks_for_stop: bool = False


@dataclass
class Waiting:
    """Somebody who waits for the run of a lease."""

    process: Process
    token: str
    since: float
    next_look: float


@dataclass
class World:
    """What there is.

    Attributes:
        waits: seconds from the end of a run, or a stop's request, until it was seen.
        sent: the words that were sent.
    """

    seed: int
    rules: Rules = field(default_factory=Rules)
    loss: float = 0.25
    old: float | None = None
    many: int | None = None
    now: float = 0.0
    waits: list[float] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        share = self.random.choice((0, 0, 0.5)) if self.old is None else self.old
        self.processes = [
            self._process(number, old=self.random.random() < share)
            for number in range(self.many or self.random.choice((2, 3, 4)))
        ]
        self.owner: Process | None = None
        self.token: str | None = None
        self.ends_at = 0.0
        self.stop: tuple[str, float] | None = None
        self.waiting: list[Waiting] = []
        self.ended: dict[str, float] = {}
        self._begun = 0
        self._under_way: list[tuple[float, Process, str, bool]] = []

    def _process(self, number: int, *, old: bool) -> Process:
        name = f"{number:016x}"
        return Process(name, None if old else self.rules.interests(name))

    # --- the network ---

    def tell(self, told: Told | None) -> None:
        """Send a word to one process."""
        if told is not None:
            self.sent.append((told.to, told.word))
            self._send([p for p in self.processes if p.name == told.to], told.word, False)

    def tell_all(self, sender: Process, word: str) -> None:
        """Send a word on the channel of all."""
        self.sent.append(("", word))
        hearing = [p for p in self.processes if p.interests is None or self.rules.hears_all]
        self._send([p for p in hearing if p is not sender], word, True)

    def _send(self, to: list[Process], word: str, everybody: bool) -> None:
        for process in to:
            for _ in range(self.random.choice((1, 1, 1, 2)) if self.loss else 1):
                if self.random.random() >= self.loss:
                    late = self.random.choice(LATE) if self.loss else 0.0
                    self._under_way.append((self.now + late, process, word, everybody))

    def deliver(self, only: Callable[[str], bool] = lambda _: True) -> None:
        """Have what is due arrive, and what is said because of it."""
        while due := [m for m in self._under_way if m[0] <= self.now and only(m[2])]:
            self._under_way = [m for m in self._under_way if m not in due]
            for _, process, word, everybody in due:
                if process.alive and process.still_until <= self.now:
                    self._hear(process, word, everybody)

    def _hear(self, process: Process, word: str, everybody: bool) -> None:
        if everybody:
            self._hint(process)
            process.looks_for_stop |= word == "stop" and process is self.owner
        elif process.interests is not None:
            heard = process.interests.hear(word, self.now)
            self.tell(heard.answer)
            process.looks_for_stop |= heard.stop
            if heard.watched is not None:
                self._hint(process)

    def _hint(self, process: Process) -> None:
        for waiting in self.waiting:
            if waiting.process is process:
                waiting.next_look = self.now

    # --- what processes do ---

    def claim(self, process: Process) -> str:
        """Begin a run."""
        self._begun += 1
        named = process.name if process.interests is not None else ""
        self.owner, self.token = process, lease_token(named, f"run{self._begun}")
        self.ends_at, self.stop = self.now + LEASE, None
        if process.interests is not None:
            process.interests.runs(self.token, self.ends_at, self.now)
        self._changed(process)
        return self.token

    def end(self) -> None:
        """The owner ends its run, and says so once that is stored."""
        owner, token = self.owner, self.token
        assert owner is not None
        assert token is not None
        self._over(token)
        if owner.interests is not None:
            for told in owner.interests.over(token, self.now):
                self.tell(told)
        self._changed(owner)

    def recover(self) -> None:
        """Somebody finds that the lease is over."""
        assert self.token is not None
        self._over(self.token)

    def _over(self, token: str) -> None:
        self.ended[token] = self.now
        self.owner, self.token = None, None

    def _changed(self, process: Process, word: str = "changed") -> None:
        olds = any(p.interests is None and p.alive for p in self.processes)
        if process.interests is None or (olds and self.rules.speaks_to_all):
            self.tell_all(process, word)

    def wait(self, process: Process) -> None:
        """Begin to wait for the run that another process has; its first look is now."""
        assert self.token is not None
        first = Waiting(process, self.token, self.now, self.now)
        self.waiting.append(first)
        self.look(first)

    def look(self, waiting: Waiting) -> None:
        """Look at the thread."""
        if self.token != waiting.token:
            ended = self.ended[waiting.token]
            self.waits.append(self.now - max(ended, waiting.since))
            self.waiting.remove(waiting)
            return
        waiting.next_look = self.now + (POLL if self.rules.polls else 1e9)
        if waiting.process.interests is not None:
            self.tell(waiting.process.interests.look(THREAD, self.token, self.now))

    def request_stop(self, process: Process) -> None:
        """Store a stop request, then tell of it."""
        assert self.token is not None
        self.stop = self.token, self.now
        if process is self.owner:
            process.looks_for_stop = True
        elif process.interests is None or "." not in self.token:
            self.tell_all(process, "stop")
        else:
            self.tell(process.interests.stop(THREAD, self.token, self.now))

    # --- time ---

    def pass_by(self, seconds: float) -> None:
        """Let time pass, and everybody do what is due."""
        self.now += seconds
        self.deliver()
        owner = self.owner
        if owner is not None and self._goes_on(owner) and self.ends_at > self.now:
            self.ends_at = self.now + LEASE
            if owner.interests is not None and self.token is not None:
                owner.interests.goes_on(self.token, self.ends_at, self.now)
        if self.token is not None and self.ends_at <= self.now:
            self.recover()
        for waiting in list(self.waiting):
            process = waiting.process
            if not process.alive:
                self.waiting.remove(waiting)
            elif process.still_until > self.now:
                waiting.since = max(waiting.since, process.still_until)
            elif waiting.next_look <= self.now:
                self.look(waiting)
        self._heed()
        self.deliver()

    def _heed(self) -> None:
        owner = self.owner
        if owner is None or self.stop is None or self.stop[0] != self.token:
            return
        due = self.rules.polls and self.now - max(self.stop[1], owner.still_until) >= POLL
        if self._goes_on(owner) and (owner.looks_for_stop or due):
            owner.looks_for_stop = False
            self.waits.append(self.now - max(self.stop[1], owner.still_until))
            self.stop = None
            self.end()

    def _goes_on(self, process: Process) -> bool:
        return process.alive and process.still_until <= self.now

    def act(self) -> None:
        """Somebody does something, or something happens to somebody."""
        ready = [p for p in self.processes if self._goes_on(p)]
        if not ready:
            self.processes[0].alive = True
            return
        process, chance = self.random.choice(ready), self.random.random()
        runs = self.token is not None
        if chance < 0.15 and not runs:
            self.claim(process)
        elif chance < 0.35 and runs and process is not self.owner:
            self.wait(process)
        elif chance < 0.45 and runs and self.owner in ready:
            self.end()
        elif chance < 0.5 and runs and self.stop is None:
            self.request_stop(process)
        elif chance < 0.53:
            process.still_until = self.now + self.random.choice((0.5, 8.0))
        elif chance < 0.55:
            process.alive, process.looks_for_stop = False, False
            # Whoever comes in its place does not go on with its run.
            self.owner = None if process is self.owner else self.owner
            if process.interests is not None:
                process.interests = self.rules.interests(process.name)
        elif chance < 0.58:
            for one in self.processes:
                one.alive = True

    def settle(self) -> None:
        """Let everything come to its end."""
        for process in self.processes:
            process.still_until = min(process.still_until, self.now)
        for number in range(200):
            self.pass_by(0.1)
            if number == 60 and self.owner is not None and self._goes_on(self.owner):
                self.end()
