"""Faults of the engine, which runs agents, and of the bridge's own agents."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["RUNNING"]

RUNNING: Final = (
    Fault(
        id="cancel-told-as-success",
        broken="A run that was stopped ends with the outcome of one that succeeded.",
        file="agui_bridge/engine/run/run_end.py",
        before="self._stream.finish(CANCELLED, usage=usage)",
        after="self._stream.finish(SUCCESS, usage=usage)",
        tests="tests/engine/stopping/test_stopping.py",
    ),
    Fault(
        id="question-told-before-commit",
        broken="A client sees the questions of a pause before the store has them.",
        file="agui_bridge/engine/run/run_end.py",
        before="        await self._commit(end)\n        if not waiting:\n",
        after="        if waiting:\n"
        "            self._stream.snapshots(self._history.state, self._history.messages)\n"
        "            self._stream.finish(outcome, result=result, usage=usage, asks=interrupts)\n"
        "            await self._commit(end)\n"
        "            return\n"
        "        await self._commit(end)\n        if not waiting:\n",
        tests="tests/engine/run/test_persistence.py",
    ),
    Fault(
        id="expiry-by-own-clock",
        broken="A question's time to answer is counted by the machine's clock, not the store's.",
        file="agui_bridge/engine/streaming/clock.py",
        before="return self._now + self._clock.monotonic() - self._seen",
        after="return time.time()",
        tests="tests/engine/input/test_auto_resume.py::test_an_expired_question_is_not_answered",
    ),
    Fault(
        id="pipe-unbounded",
        broken="A slow reader holds the run back only when chunks and bytes are both too many.",
        file="agui_bridge/engine/streaming/pipe.py",
        before="if self._size >= self._max_bytes or len(self._chunks) >= self._max_chunks:",
        after="if self._size >= self._max_bytes and len(self._chunks) >= self._max_chunks:",
        tests="tests/engine/streaming/test_pipe.py",
    ),
    Fault(
        id="slots-kept",
        broken="The slot of a run is never freed: a scope can run no more than its limit, ever.",
        file="agui_bridge/engine/engine.py",
        before="lambda _: self._slots.free(scope)",
        after="lambda _: None",
        tests="tests/engine/test_scope_slots.py",
    ),
    Fault(
        id="stop-from-elsewhere-unnoticed",
        broken="A run does not heed a stop that another process took.",
        file="agui_bridge/engine/run/execution.py",
        before="if not self.run.stop.requested or (",
        after="if self.run.stop.requested and (",
        tests="tests/engine/stopping/test_stop_replicas.py",
    ),
    Fault(
        id="journal-forgets-failures",
        broken="A step that failed is carried out again after a pause, instead of failing again.",
        file="agui_bridge/agents/replay/continuation.py",
        before="for key in entries),",
        after="for key in entries if not isinstance(entries[key], Failure)),",
        tests="tests/agents/function/test_acting.py",
    ),
    Fault(
        id="tool-without-lease",
        broken="A function agent carries a tool out without looking whether it still may.",
        file="agui_bridge/agents/function/activities.py",
        before="            self._run.check_lease()\n",
        after="            pass\n",
        tests="tests/agents/function/test_ending.py",
    ),
    Fault(
        id="own-question-is-mention",
        broken='An agent\'s own question ("Let me ask: …") is a mention, what it quotes a request.',
        file="agui_bridge/agents/sentences/mentions.py",
        before="_OWN_WORDS.search(lead) is None",
        after="_OWN_WORDS.search(lead) is not None",
        tests="tests/agents/sentences/test_mentions.py",
    ),
)
