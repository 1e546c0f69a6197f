"""What programs do with threads themselves, without a client: answer, resume, stop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from agui_bridge.bridge.registry import Registry
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Submission
from agui_bridge.errors import Refused
from agui_bridge.inbox.answering import AnswerOutcome, answer_question
from agui_bridge.inbox.pending import Filters, Page, find_page
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    Json,
    Principal,
    RecordedAnswer,
    ThreadKey,
)
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.surfaces.reading import check_json

T = TypeVar("T")


class WithoutClient(Registry):
    """Agents whose threads programs may answer, resume and stop.

    Args:
        settings: defaults of every agent.
        references: reads and writes references to questions.
    """

    def __init__(self, settings: Settings, references: References) -> None:
        super().__init__(settings)
        self.references = references

    @abstractmethod
    async def open(self) -> Engine:
        """The engine; the first call opens the store."""

    @abstractmethod
    def _in_a_loop(self, work: Callable[[WithoutClient], Coroutine[Any, Any, T]]) -> T:
        """Do something with a bridge on the same store, in an event loop of its own."""

    @checked_arguments("bridge.answer")
    async def answer(
        self,
        ref: str | Reference,
        payload: Json = None,
        *,
        cancel: bool = False,
        principal: Principal | None = None,
        via: str = "api",
        wait: float | None = None,
    ) -> AnswerOutcome:
        """Answer one question, also while others of the same pause are open.

        The answer that completes a pause resumes it. An identical answer has the same outcome
        again, and nothing is executed twice; another one is refused, and says who decided.

        Args:
            ref: which question, as `pending`, `GET /interrupts` or a link names it.
            payload: the answer, of the shape that its response schema says.
            cancel: answer it with nothing: nobody decided.
            principal: who answers; by default whom a link was made for, with the roles in it, in
                the question's scope, else the default principal.
            via: through what, for the history.
            wait: seconds to wait for the end of the run that carries the answer out; when they
                are over, the outcome is `claimed`. None: as long as it takes.

        Raises:
            Refused: the reference is none (INVALID_REFERENCE, REFERENCE_EXPIRED) or somebody
                else's (FORBIDDEN); the principal sees no such question (INTERRUPT_NOT_FOUND); the
                payload is no JSON (INVALID_INPUT); the scope has too many runs (TOO_MANY_RUNS);
                the agent is gone (AGENT_NOT_FOUND).
            StoreUnavailable: the store did not answer.
        """
        check_json(payload, "payload")
        if cancel and payload is not None:
            raise Refused("INVALID_INPUT", "payload: to cancel a question is to say nothing.")
        reference = ref if isinstance(ref, Reference) else self.references.read(ref)
        return await answer_question(
            await self.open(),
            self.agents,
            reference,
            RecordedAnswer("cancelled" if cancel else "resolved", payload),
            principal or reference.holder or Principal(),
            via=via,
            wait=wait,
        )

    @checked_arguments("bridge.pending")
    async def pending(
        self,
        principal: Principal | None = None,
        *,
        agent: str | None = None,
        tool: str | None = None,
        thread: str | None = None,
        status: InterruptStatus | None = InterruptStatus.OPEN,
        mine: bool = False,
        after: str | None = None,
        limit: int = 50,
    ) -> Page:
        """List the questions that somebody sees, oldest first: by default those that are open.

        They are those of the principal's scope, and of the scopes that it reviews.

        Args:
            principal: the caller; the default principal by default.
            agent: of this agent; None: of any.
            tool: about a call of this tool; None: about anything.
            thread: of threads of this id; None: of any.
            status: with this status; None: with any.
            mine: only those that wait for the principal: open, theirs to answer, not voted on.
            after: the cursor of the page before; None: from the first.
            limit: as many at most, from 1.

        Raises:
            Refused: the cursor is none (INVALID_INPUT).
            StoreUnavailable: the store did not answer.
        """
        return await find_page(
            await self.open(),
            self.references,
            principal or Principal(),
            Filters(agent=agent, tool=tool, thread=thread, status=status, mine=mine),
            agents=self.agents,
            after=after,
            limit=limit,
        )

    @checked_arguments("bridge.grants")
    async def grants(self, principal: Principal | None = None, *, limit: int = 200) -> list[Grant]:
        """The remembered decisions of a scope, and of those that it reviews, newest first.

        Args:
            principal: who looks; the default principal by default.
            limit: as many at most of each scope.
        """
        who, engine = principal or Principal(), await self.open()
        scopes = dict.fromkeys((who.scope, *who.reviews))
        found = [one for scope in scopes for one in await engine.store.grants.list(scope, limit)]
        return sorted(found, key=lambda grant: -grant.created_at)

    @checked_arguments("bridge.revoke_grant")
    async def revoke_grant(self, id: str, principal: Principal | None = None) -> bool:
        """End a remembered decision: from now on people are asked again.

        Args:
            id: the decision's.
            principal: who ends it: anybody of its scope, or who reviews it.

        Returns:
            Whether it was there and not revoked before.
        """
        who, engine = principal or Principal(), await self.open()
        for scope in dict.fromkeys((who.scope, *who.reviews)):
            if await engine.store.grants.revoke(scope, id, who.actor):
                return True
        return False

    @checked_arguments("bridge.stop")
    async def stop(
        self,
        agent: str,
        thread: str,
        *,
        force: bool = False,
        timeout: float = 30.0,
        principal: Principal | None = None,
    ) -> StopResult:
        """Stop what a thread does and wait until it is over; loses nothing.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            force: cancel at once instead of letting a running tool finish.
            timeout: seconds that a graceful stop may take.
            principal: who stops a thread of their scope. None: the operator, one of the default
                scope.

        Raises:
            Refused: the thread waits with a question that the principal may not withdraw, being
                none of those who asked or may answer (NOT_AN_APPROVER); there is no such agent
                (AGENT_NOT_FOUND); the scope has too many stops (TOO_MANY_RUNS).
            StoreUnavailable: the store did not answer.
        """
        scope = (principal or Principal()).scope
        engine = await self.open()
        key = ThreadKey(scope, self.find(agent).name, thread)
        return await engine.stop(key, force=force, timeout=timeout, principal=principal)

    @checked_arguments("bridge.resume")
    async def resume(
        self,
        agent: str,
        thread: str,
        answers: Mapping[str, Json],
        *,
        cancel: Sequence[str] = (),
        principal: Principal | None = None,
    ) -> WireEvent:
        """Answer a thread's interrupts, from a webhook or another page, and see the run through.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            answers: payload by interrupt id.
            cancel: ids of interrupts to cancel.
            principal: who answers.

        Returns:
            The run's last event: RUN_FINISHED, or RUN_ERROR when it failed or was refused.

        Raises:
            Refused: no interrupt is named, or a payload is no JSON (INVALID_INPUT); there is no
                such agent (AGENT_NOT_FOUND); the scope has too many runs (TOO_MANY_RUNS).
            StoreUnavailable: the store did not answer.
        """
        if not answers and not cancel:
            raise Refused("INVALID_INPUT", "answers: name at least one interrupt, or cancel one.")
        for interrupt, payload in answers.items():
            check_json({interrupt: payload}, "answers")
        entries = [
            {"interruptId": i, "status": "resolved", "payload": payload}
            for i, payload in answers.items()
        ]
        entries += [{"interruptId": i, "status": "cancelled"} for i in cancel]
        parsed = parse_input(
            {
                "threadId": thread,
                "runId": mint(),
                "protocolVersion": "1.0",
                "messages": [],
                "resume": entries,
            }
        )
        engine = await self.open()
        submission = Submission(
            self.find(agent), principal or Principal(), parsed, on_disconnect="continue"
        )
        pipe, stream = engine.submit(submission)
        try:
            while await pipe.read():
                pass
        finally:
            pipe.detach()
        assert stream.terminal is not None, "every stream ends with a terminal event"
        return stream.terminal

    def stop_sync(self, agent: str, thread: str, **options: Any) -> StopResult:
        """`stop`, for scripts without an event loop; the store must be shared (no memory).

        Adapters are closed afterwards, unless the bridge is open, and opened by the next call.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            **options: as for `stop`.

        Raises:
            ConfigurationError: the bridge has no URL of a shared store.
            StoreUnavailable: the store can't be reached.
        """
        return self._in_a_loop(lambda bridge: bridge.stop(agent, thread, **options))

    def resume_sync(
        self, agent: str, thread: str, answers: Mapping[str, Json], **options: Any
    ) -> WireEvent:
        """`resume`, for scripts without an event loop; the store must be shared (no memory).

        Adapters are closed afterwards, unless the bridge is open, and opened by the next call.

        Args:
            agent: the agent's name.
            thread: the thread's id.
            answers: payload by interrupt id.
            **options: as for `resume`.

        Raises:
            ConfigurationError: the bridge has no URL of a shared store.
            Refused: as `resume`.
            StoreUnavailable: the store can't be reached, or did not answer.
        """
        return self._in_a_loop(lambda bridge: bridge.resume(agent, thread, answers, **options))
