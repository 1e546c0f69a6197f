"""What `run` shows an agent: its input, and the state shared with the frontend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import Message, RunAgentInput

from agui_bridge.adapters import StopSignal
from agui_bridge.agents.function.execution import FunctionExecution
from agui_bridge.errors import AgentMistake
from agui_bridge.frameworks.a2ui.offer import Page, page_of
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.protocol.json_values import jsonable
from agui_bridge.protocol.threads.content_parts import known_messages
from agui_bridge.protocol.threads.records import ClosedBatch, Json, Principal
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import Turn, turns_of


class RunView:
    """The input of a run, such that a replay sees the same conversation.

    Args:
        execution: the run that is carried out.
    """

    def __init__(self, execution: FunctionExecution) -> None:
        """Show the run; a resumed one with the messages of its first run."""
        self._execution = execution
        self._run = execution.run
        seen, new = execution.context
        self._seen = self._run
        if execution.goes_on:
            context = self._run.raw_messages[:seen]
            self._seen = replace(
                self._run,
                raw_messages=context,
                raw_new_messages=context[len(context) - new :] if new else (),
            )

    @property
    def messages(self) -> list[Message]:
        """The conversation as it was when the function first started.

        A replay sees the same, so that a step may take it as an argument.
        """
        return self._seen.messages

    @property
    def new_messages(self) -> list[Message]:
        """The messages that the input added with which the function first started."""
        return self._seen.new_messages

    @property
    def text(self) -> str:
        """The text of the last user message when the function first started, or ""."""
        return self._seen.text

    def turns(self) -> list[Turn]:
        """`messages` as a model wants them: calls answered, neighbours in one, media in parts."""
        return turns_of(self._seen.raw_messages)

    def page(self, a2ui: A2UI | None = WHERE_OFFERED) -> Page:
        """What the page shows, which tools it has, and the A2UI surfaces that it offers to show.

        Args:
            a2ui: what you say of surfaces; None takes no offer.
        """
        return page_of(self._run, a2ui)

    @property
    def messages_since(self) -> list[Message]:
        """What the conversation gained since the function first started.

        It differs at each run: before a question that was answered, never let it decide the path.
        """
        return known_messages(self._run.raw_messages[self._execution.context[0] :])

    @property
    def thread_id(self) -> str:
        """The conversation."""
        return self._run.thread_id

    @property
    def run_id(self) -> str:
        """This run; another one at each resume."""
        return self._run.run_id

    @property
    def principal(self) -> Principal:
        """Who asks, at a resume who answered."""
        return self._run.principal

    @property
    def input(self) -> RunAgentInput:
        """This run's input as it came; another one at each resume."""
        return self._run.input

    @property
    def closed(self) -> Sequence[ClosedBatch]:
        """Pauses of this thread that ended without an answer since its last run."""
        return self._run.closed

    @property
    def trace_headers(self) -> Mapping[str, str]:
        """Headers to send upstream, so that the spans there join this run's trace."""
        return self._run.trace_headers

    @property
    def stop(self) -> StopSignal:
        """Set when the run shall end."""
        return self._run.stop

    @property
    def usage(self) -> list[Any]:
        """Append token usage entries (ag_ui.core.TokenUsage or dicts) of the calls you make.

        A replay may append them again: what an earlier run has told is not told again.
        """
        return self._run.usage

    @property
    def result(self) -> Json:
        """RUN_FINISHED's `result`; set it to any value that has a JSON form."""
        return self._run.result

    @result.setter
    def result(self, value: Any) -> None:
        self._run.result = jsonable("run.result", value)

    @property
    def iteration(self) -> int | None:
        """Model steps begun: set it if you count them, and a stop tells how far the run was."""
        return self._run.iteration

    @iteration.setter
    def iteration(self, value: int | None) -> None:
        self._run.iteration = value

    @property
    def end_reason(self) -> EndReason | None:
        """Why the run ends, for `on_run_end`: set it when it is other than SUCCESS."""
        return self._run.end_reason

    @end_reason.setter
    def end_reason(self, value: EndReason | None) -> None:
        self._run.end_reason = value

    @property
    def state(self) -> dict[str, Json]:
        """The state shared with the frontend: a dict to change at will.

        Changes go out as STATE_DELTA at the next `run.*` call, yield, pause or end. A replay
        starts from the state of the first run and makes the changes again, silently; then
        what the frontend changed meanwhile is brought in. Change it outside the functions
        that steps carry out: those are not run again.
        """
        return self._execution.state

    def _forgot(self, mistake: AgentMistake) -> None:
        """Note that a call was not awaited: nothing is begun after it."""
        self._execution.forgotten = mistake
