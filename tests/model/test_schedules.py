"""Single schedules, step by step: what the search may meet, and how the model tells it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Principal
from tests.model.clients import answer_to
from tests.model.engine import LEASE, Engine
from tests.model.machine import BridgeMachine
from tests.model.mutants import MUTANTS
from tests.model.operations import Act, Action, AskKind, Fate, Pause, Plan, Process
from tests.model.promises import check_execution
from tests.model.rule_mutants import messages_of_anybody_answer
from tests.model.sleep_mutants import begins_anew, with_row
from tests.model.world import TIME, Execution, Job, Violation, World


@dataclass
class Schedule:
    """A world moved by hand."""

    engine_class: type[Engine] = Engine
    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        self.engine = self.engine_class(self.world)

    def begin(self, process: Process) -> Job:
        return Job("job", process)

    def step(self, job: Job, *plan: Plan, times: int = 1, fate: Fate = Fate.DELIVERED) -> None:
        """Let a job do so many operations, or fewer when it is over."""
        left = list(plan)
        for _ in range(times):
            if job.over:
                break
            executed = len(self.world.ledger.executions)
            self.world.step(job, fate, left)
            for execution in self.world.ledger.executions[executed:]:
                check_execution(self.world, execution)

    def pause(self) -> Interrupt:
        """Bring the thread to a pause that asks for one approval."""
        job = self.begin(self.engine.answer(Request(has_new_message=True)))
        self.step(job, Pause((AskKind(),)), times=4)
        assert job.told == "finished"
        return self.world.look().batch_interrupts()[0]

    def fall_asleep(self) -> Interrupt:
        """Bring the thread to a run that sleeps, and time to when it is to be woken."""
        job = self.begin(self.engine.answer(Request(has_new_message=True)))
        self.step(job, Pause((AskKind(tool=False, expires_in=5.0, sleeps=True),)), times=4)
        self.world.clock.advance(5.0)
        return self.world.look().batch_interrupts()[0]

    def approve(self, ask: Interrupt) -> Job:
        return self.begin(self.engine.answer(Request((answer_to(ask, "approve", 1),))))


def reopening() -> type[Engine]:
    return next(mutant.engine for mutant in MUTANTS if mutant.name == "a lost run is reopened")


def test_lost_run_that_is_reopened_would_execute_twice() -> None:
    schedule = Schedule(reopening())
    ask = schedule.pause()
    schedule.step(schedule.approve(ask), Action.EXECUTE, times=3)
    schedule.world.clock.advance(LEASE)
    again = schedule.approve(ask)

    with pytest.raises(Violation, match="executed twice"):
        schedule.step(again, Action.EXECUTE, times=9)


def test_lost_run_is_indeterminate_and_not_executed_again() -> None:
    schedule = Schedule()
    ask = schedule.pause()
    schedule.step(schedule.approve(ask), Action.EXECUTE, times=3)
    schedule.world.clock.advance(LEASE)
    again = schedule.approve(ask)

    schedule.step(again, times=3)

    assert again.told == "RUN_INDETERMINATE"
    assert len(schedule.world.ledger.executions) == 1


def test_of_two_approvals_at_once_one_executes_and_the_other_hears_of_it() -> None:
    schedule = Schedule()
    ask = schedule.pause()
    first, second = schedule.approve(ask), schedule.approve(ask)
    for job in (first, second, first, second):  # both look, then both claim
        schedule.step(job)
    schedule.step(first, Action.EXECUTE, Action.FINISH, times=3)
    schedule.step(second, times=3)

    assert (first.told, second.told) == ("finished", "replay")
    assert len(schedule.world.ledger.executions) == 1


def test_claim_whose_acknowledgement_was_lost_is_taken_up_by_its_retry() -> None:
    schedule = Schedule()
    job = schedule.approve(schedule.pause())
    schedule.step(job)
    schedule.step(job, fate=Fate.UNACKNOWLEDGED)
    schedule.step(job)

    schedule.step(job, Action.EXECUTE, Action.FINISH, times=3)

    assert job.told == "finished"


def test_owner_that_stood_still_executes_nothing_and_writes_nothing() -> None:
    schedule = Schedule()
    job = schedule.approve(schedule.pause())
    schedule.step(job, times=2)
    schedule.world.clock.advance(LEASE)

    schedule.step(job, Action.EXECUTE, times=2)

    assert job.told == "RUN_INDETERMINATE"
    assert schedule.world.ledger.executions == []


def test_end_whose_acknowledgement_was_lost_is_found_by_its_receipt() -> None:
    schedule = Schedule()
    job = schedule.approve(schedule.pause())
    schedule.step(job, Action.EXECUTE, Action.FINISH, times=4)
    schedule.step(job, fate=Fate.UNACKNOWLEDGED)
    other = schedule.begin(schedule.engine.answer(Request(has_new_message=True)))
    schedule.step(other, times=2)

    schedule.step(job, times=2)

    assert job.told == "finished"


def test_stale_claim_does_not_reach_a_thread_that_was_made_anew() -> None:
    schedule = Schedule()
    stale = schedule.approve(schedule.pause())
    schedule.step(stale)
    schedule.step(schedule.begin(schedule.engine.delete()), times=3)
    schedule.pause()

    schedule.step(stale, times=2)

    assert stale.told == "INTERRUPT_NOT_FOUND"


def test_cancelling_one_expired_question_by_itself_comes_to_an_end() -> None:
    state = BridgeMachine()
    state.a_run_has_paused(
        kinds=[
            AskKind(tool=True, offers_more=False, expires_in=5.0),
            AskKind(tool=True, offers_more=False, expires_in=None),
        ]
    )
    for _ in range(9):
        state.pass_time(seconds=1.0)
    state.answer_some(
        ahead=0, lenient=False, picks=[(0, "approve", 0)], singly=False, stranger=False
    )
    state.answer_some(ahead=0, lenient=False, picks=[(1, "cancel", 0)], singly=True, stranger=False)
    state.proceed_to_the_end(at=1, plan=[])
    state.promises_are_kept()


def eve_says_yes() -> BridgeMachine:
    """A message of somebody who may not answer is read as an approval of what bob is asked."""
    state = BridgeMachine()
    rule = ApprovalRule(approvers=("bob",))
    asked = AskKind(tool=False, offers_more=False, expires_in=None, rule=rule)
    state.a_run_has_paused(kinds=[asked])
    eve = Principal("scope", "eve")
    state.send_message(variant=1, auto=True, follows=True, ahead=20, who=eve)
    if any(isinstance(job.operation, Act) for job in state.jobs):
        state.agent_acts(plan=[Action.EXECUTE, Action.FINISH], last=Fate.DELIVERED)
    state.promises_are_kept()
    return state


def test_a_message_of_who_may_not_answer_answers_nothing() -> None:
    assert eve_says_yes().world.ledger.executions == []


def test_a_message_of_anybody_would_answer_what_a_rule_guards() -> None:
    with messages_of_anybody_answer(), pytest.raises(Violation):
        eve_says_yes()


def both_sweep(schedule: Schedule) -> list[Execution]:
    """Two sweepers see a run whose time has come; the second one stands still, and goes on late."""
    schedule.fall_asleep()
    first, second = (schedule.begin(schedule.engine.sweep()) for _ in range(2))
    for job in (first, second):
        schedule.step(job)
    schedule.step(first, Action.EXECUTE, Action.FINISH, times=9)
    schedule.step(second, Action.FINISH, times=9)
    assert (first.told, second.told) == ("finished", "replay")
    return schedule.world.ledger.executions


def test_of_two_sweepers_one_wakes_a_run_and_the_other_changes_nothing() -> None:
    (woken,) = both_sweep(Schedule())

    assert woken.args == TIME


def test_a_late_sweeper_would_begin_a_run_of_nobody_s() -> None:
    with with_row("0a", begins_anew)(), pytest.raises(Violation, match="did not sleep"):
        both_sweep(Schedule())


def test_a_message_after_its_time_waits_for_the_run_that_slept() -> None:
    schedule = Schedule()
    schedule.fall_asleep()
    message = schedule.begin(schedule.engine.answer(Request(has_new_message=True)))
    schedule.step(message)
    (wakes,) = schedule.engine.woken
    woken = schedule.begin(schedule.engine.answer(wakes))

    schedule.step(woken, Action.EXECUTE, Action.FINISH, times=9)
    schedule.step(message, Action.FINISH, times=9)

    assert (woken.told, message.told) == ("finished", "finished")
    assert len(schedule.world.ledger.executions) == 1
