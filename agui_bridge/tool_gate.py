"""What each tool call passes right before it begins, where an adapter executes tools itself.

An approval must run once, a stop must be heard, a policy obeyed: one line forgotten in front of a
tool is an execution too many. So all of it is one call, whose answer is a value. What a policy is
stands in `policy`; function agents have `agents.function.policy_gate`.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from agui_bridge.adapters import Run
from agui_bridge.policy import ProposedCall, Verdict, judge
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    RESPOND,
    Approve,
    Decision,
)
from agui_bridge.protocol.answers.unexecuted import (
    STOPPED,
    denied_by_policy,
    stopped_by_policy,
)
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["AskFirst", "CutOff", "Execute", "GateVerdict", "Refuse", "ToolGate"]

Validated: TypeAlias = Callable[[Mapping[str, Json]], Mapping[str, Json]]

_POLL: Final = 0.05
"""Seconds between looks at `stop.force`, which has no event of its own."""
_ALLOWED: Final = Verdict("allow")


class CutOff(Exception):
    """The agent, or a tool of it, was cancelled from inside: nobody had asked for a stop."""

    def __init__(self) -> None:
        super().__init__(
            "The run was cut off: what it waited for was cancelled, though nobody stopped the run."
        )


@dataclass(frozen=True, slots=True)
class Execute:
    """Carry the call out, now.

    Attributes:
        args: with exactly these arguments: the proposed ones, or those that a person approved, as
            `validated` gave them.
        edited: whether that person had changed them.
    """

    args: Mapping[str, Json]
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """Don't.

    Attributes:
        text: what stands for the call's result: what the engine tells clients, too. A person may
            have given it in place of the tool's.
        by: who says so. After a `stop` nothing else of the run may begin either.
    """

    text: str
    by: Literal["stop", "person", "policy"]


@dataclass(frozen=True, slots=True)
class AskFirst:
    """Don't yet: have the run end with a `Pause` that holds the question.

    Attributes:
        ask: the question; `dataclasses.replace` changes what your framework knows better.
    """

    ask: Ask


@dataclass(frozen=True, slots=True)
class GoingOn:
    """A call that began in an earlier run, and whose tool has asked something in its middle.

    Attributes:
        args: what it began with, and goes on with.
        approvers: everybody who had approved it.
        edited: whether the last of them had changed the arguments.
    """

    args: Mapping[str, Json]
    approvers: tuple[str, ...] = ()
    edited: bool = False


GateVerdict = Execute | Refuse | AskFirst
"""What becomes of a call."""


async def _all_taken() -> None:
    """Wait for the consumer where tools begin between two items of `Adapter.run` only."""


class ToolGate:
    """Stands before every tool of one run.

    Args:
        run: the run.
        approve: which calls a person has to approve: names of tools, or a function of the call.
            Leave it empty where the framework itself stops for approvals.
        taken: returns once all that was emitted so far has been taken from `run`. Needed by
            whoever carries tools out in tasks of its own; see `Run.before_act`.
        actor: who began the run that this one continues, for policies. By default this run's own
            principal, who in a resumed run is the one that answered last: keep it in the
            continuation.
        going_on: by their ids, calls that have begun and asked in their middle. The policy is
            heard again, and can only let them go on or not: nobody can approve what has begun.

    Attributes:
        executed: by their ids, the calls that got `Execute`, and what they were let through with.
        begun: ids of the calls that were let through.
        fault: what must end the run whatever a framework makes of it: a lost lease, a policy that
            failed, a tool that was cut off. It is raised by each `before` from then on; call
            `raise_fault` after the framework's stream, or between its items.
        failed: called when there is a fault, for frameworks that would go on: some make a text of
            it for the model.
    """

    def __init__(
        self,
        run: Run,
        *,
        approve: Collection[str] | Callable[[ToolCall], bool] = (),
        taken: Callable[[], Awaitable[None]] = _all_taken,
        actor: str | None = None,
        going_on: Mapping[str, GoingOn] | None = None,
    ) -> None:
        self.begun: set[str] = set()
        self.executed: dict[str, GoingOn] = {}
        self.fault: BaseException | None = None
        self.failed: Callable[[], object] | None = None
        self._run = run
        self._approve = approve
        self._taken = taken
        self._actor = actor or run.principal.actor
        self._decided: dict[str, Decision] = dict(run.resume.decisions) if run.resume else {}
        self._going_on = dict(going_on or {})
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running_tools(self) -> int:
        """How many tools run at this moment."""
        return self._running

    async def before(
        self,
        call_id: str,
        name: str,
        args: Mapping[str, Json],
        *,
        native_id: str | None = None,
        parameters: Mapping[str, Json] | None = None,
        message: str | None = None,
        validated: Validated = dict,
    ) -> GateVerdict:
        """Judge a call that is about to begin; ask nothing else before it, and nothing after.

        In this order: a stop; what was decided about this very call; the policy, of the arguments
        that would be executed; the adapter's own rule; then, last, the adapter around this one, a
        stop that another process took, and the lease.

        A decision counts once. A framework that begins the same call again, or gives its id to
        another one, is asked anew.

        Args:
            call_id: the call's id on the wire.
            name: the tool.
            args: the proposed arguments, plain JSON.
            native_id: the `Ask.native_id` that the call was asked about under, if that is not
                `call_id`.
            parameters: the tool's JSON Schema; with it the person who is asked may edit, where the
                adapter's capabilities say so.
            message: what that person reads, if the policy gives no reason.
            validated: what the framework makes of approved arguments before it executes them, such
                as a number of "1": the policy judges that. It raises nothing.

        Raises:
            Fenced: another process may have the run.
            PolicyFailed: the policy gave no verdict.
        """
        self.raise_fault()
        try:
            return await self._judged(
                ToolCall(call_id, name, args),
                native_id or call_id,
                parameters,
                message,
                validated,
            )
        except Exception as error:
            self.fail(error)
            raise

    @asynccontextmanager
    async def running(self, call_id: str) -> AsyncGenerator[None, None]:
        """Hold while the tool of a call runs that got `Execute`: `stopped` waits for it.

        Args:
            call_id: the call's id on the wire.
        """
        self.begun.add(call_id)
        self._running += 1
        self._idle.clear()
        try:
            with self.cut_off_noted():
                yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    @contextmanager
    def cut_off_noted(self) -> Iterator[None]:
        """Have the run fail if the tool in here is cancelled from inside: `running` does it.

        So is one that awaits what somebody else cancelled. Whether it acted is unknown, and no
        text of a framework may say anything else.
        """
        try:
            yield
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if not self._run.stop.requested and not (task and task.cancelling()):
                cut_off = CutOff()
                cut_off.__cause__ = error
                self.fail(cut_off)
            raise

    @asynccontextmanager
    async def acting(
        self,
        call_id: str,
        name: str,
        args: Mapping[str, Json],
        *,
        native_id: str | None = None,
        parameters: Mapping[str, Json] | None = None,
        message: str | None = None,
        validated: Validated = dict,
    ) -> AsyncGenerator[GateVerdict, None]:
        """`before` and `running` in one: `async with gate.acting(…) as verdict`.

        Args:
            call_id: see `before`.
            name: see `before`.
            args: see `before`.
            native_id: see `before`.
            parameters: see `before`.
            message: see `before`.
            validated: see `before`.

        Raises:
            Fenced, PolicyFailed: see `before`.
        """
        verdict = await self.before(
            call_id,
            name,
            args,
            native_id=native_id,
            parameters=parameters,
            message=message,
            validated=validated,
        )
        if not isinstance(verdict, Execute):
            yield verdict
            return
        async with self.running(call_id):
            yield verdict

    async def stopped(self) -> None:
        """Return when a stop was asked for and no tool runs, or at once when the stop is forced."""
        stop = self._run.stop
        await stop
        while self._running and not stop.force:
            # In a task, whose end is heard a turn later: the tool's result reaches its framework
            # first, and the framework has not gone on yet.
            idle = asyncio.ensure_future(self._idle.wait())
            try:
                await asyncio.wait([idle], timeout=_POLL)
            finally:
                idle.cancel()

    def fail(self, error: BaseException) -> None:
        """Have the run end with an error, whatever the framework makes of it; the first counts."""
        if self.fault is None:
            self.fault = error
            if self.failed is not None:
                self.failed()

    def raise_fault(self) -> None:
        """Raise `fault`, if there is one.

        Raises:
            Fenced, PolicyFailed: see `before`.
        """
        if self.fault is not None:
            raise self.fault

    async def _judged(
        self,
        call: ToolCall,
        native_id: str,
        parameters: Mapping[str, Json] | None,
        message: str | None,
        validated: Validated,
    ) -> GateVerdict:
        going_on = self._going_on.get(call.id)
        if await self._is_stopping():
            return self._refused(call, native_id, STOPPED, "stop")
        if going_on is not None:
            verdict = await self._policy(call.name, going_on.args, going_on.approvers)
            if verdict.action == "deny" or (verdict.action == "ask" and not going_on.approvers):
                text = stopped_by_policy(verdict.reason)
                return self._refused(call, native_id, text, "policy")
            # What was judged is what it began with: the adapter makes its values of that again.
            validated(going_on.args)
            return await self._let_through(call, native_id, going_on)
        decision = self._decided.get(native_id)
        approval = decision if isinstance(decision, Approve) else None
        if decision is not None and approval is None:
            del self._decided[native_id]
            return Refuse(decision.text, "person")
        args = call.args if approval is None else validated(approval.args)
        approvers = self._approvers(approval, native_id)
        verdict = await self._policy(call.name, args, approvers)
        if verdict.action == "deny":
            self._decided.pop(native_id, None)
            return Refuse(denied_by_policy(verdict.reason), "policy")
        if approval is None:
            if verdict.action == "ask":
                return AskFirst(_policy_asks(call, verdict, parameters, message))
            if self._must_be_approved(call):
                return AskFirst(
                    Ask(call.id, "tool_call", message, tool_call=call, parameters=parameters)
                )
        edited = approval is not None and approval.edited
        return await self._let_through(call, native_id, GoingOn(args, approvers, edited))

    async def _let_through(self, call: ToolCall, native_id: str, judged: GoingOn) -> GateVerdict:
        if self._run.before_act is not None:
            await self._taken()
            self._run.before_act()
        # The verdicts may have taken their time: nothing begins in a run that is to stop.
        if await self._is_stopping():
            return self._refused(call, native_id, STOPPED, "stop")
        self._run.check_lease()
        self._decided.pop(native_id, None)
        # A call goes on once for its answers.
        self._going_on.pop(call.id, None)
        self.begun.add(call.id)
        self.executed[call.id] = replace(judged, args=deepcopy(dict(judged.args)))
        return Execute(deepcopy(dict(judged.args)), judged.edited)

    def _refused(
        self, call: ToolCall, native_id: str, text: str, by: Literal["stop", "policy"]
    ) -> Refuse:
        """Refuse a call, of which nobody may say that it never began if it goes on."""
        if self._going_on.pop(call.id, None) is not None:
            # Nor has anybody approved another one under its id.
            self._decided.pop(native_id, None)
            self.begun.add(call.id)
        return Refuse(text, by)

    async def _is_stopping(self) -> bool:
        if not self._run.stop.requested:
            await self._run.check_stop()
        return self._run.stop.requested

    def _approvers(self, approval: Approve | None, native_id: str) -> tuple[str, ...]:
        """Everybody who approved; the last of them completed it."""
        if approval is None:
            return ()
        others = self._run.resume.actors if self._run.resume is not None else {}
        last = approval.actor or others.get(native_id, self._run.principal.actor)
        return approval.approvers or (last,)

    async def _policy(
        self, name: str, args: Mapping[str, Json], approvers: tuple[str, ...]
    ) -> Verdict:
        run = self._run
        if run.policy is None:
            return _ALLOWED
        call = ProposedCall(
            agent=run.agent,
            thread_id=run.thread_id,
            principal=replace(run.principal, actor=self._actor),
            name=name,
            # A copy: what it judged is what is executed, whatever it does to it.
            args=deepcopy(dict(args)),
            approved=bool(approvers),
            approved_by=approvers[-1] if approvers else None,
            approvers=approvers,
        )
        return await judge(run.policy, call)

    def _must_be_approved(self, call: ToolCall) -> bool:
        rule = self._approve
        return rule(call) if callable(rule) else call.name in rule


def _policy_asks(
    call: ToolCall,
    verdict: Verdict,
    parameters: Mapping[str, Json] | None,
    message: str | None,
) -> Ask:
    return Ask(
        native_id=call.id,
        reason="tool_call",
        message=verdict.reason or message or f"The policy asks for an approval of {call.name!r}.",
        tool_call=call,
        parameters=parameters if verdict.editable else None,
        allowed=None if verdict.editable else (APPROVE, DECLINE, RESPOND),
        expires_in=verdict.expires_in,
    )
