"""The adapter of Agno's agents and teams, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from typing import Any

from agno.agent import Agent
from agno.team import Team
from agno.workflow import Workflow

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.import_object import import_object
from agui_bridge_agno.guard import hold_tools
from agui_bridge_agno.turn import Settings, Turn


class AgnoAdapter:
    """Runs an agent or a team of Agno, whose requirements become questions.

    Tools with `requires_confirmation` are approved by people, with edits, by members of a team too;
    `requires_user_input`, `get_user_input`, `ask_user` and `external_execution` are questions.
    Nothing is kept in a database of Agno's: the thread is the session.

    Args:
        agent: an `Agent` or a `Team`, a function from the `Run` to one, or `module:attribute` of
            any of these.
        dependencies: a function from the `Run` to the dependencies of the agent's tools, a dict,
            sync or async, or `module:attribute` of one. It is called for each run, a resumed one
            too, and what it returns is never stored. What the application shows is among them.
        forwarded_props: names of what clients forward that tools find in `dependencies`
            under `forwarded_props`; True for all.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.
        client_user_id: whether the client's `forwardedProps.user_id` is Agno's `user_id`: only
            where whoever calls is trusted to speak for anybody. Else it is who began the run.

    Raises:
        ConfigurationError: one of them is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, policy=True
    )

    def __init__(
        self,
        agent: Agent | Team | Callable[[Run], Agent | Team] | str,
        *,
        dependencies: Callable[[Run], Any | Awaitable[Any]] | str | None = None,
        forwarded_props: bool | Collection[str] = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
        client_user_id: bool = False,
    ) -> None:
        self._agent: Any = import_object(agent) if isinstance(agent, str) else agent
        found = import_object(dependencies) if isinstance(dependencies, str) else dependencies
        self._dependencies: Any = found
        if isinstance(self._agent, Workflow):
            raise ConfigurationError(
                f"{self._agent.name!r} is a workflow of agno. The bridge does not run workflows: "
                "agno would carry out an answer twice that comes twice. Add an Agent or a Team."
            )
        if not isinstance(self._agent, Agent | Team) and not callable(self._agent):
            raise ConfigurationError(
                f"agent should be an Agent or a Team of agno, or a function that makes one of the "
                f"Run, not {self._agent!r:.80}."
            )
        if found is not None and not callable(found):
            raise ConfigurationError(
                f"dependencies should be a function from the Run to a dict, not {found!r:.80}."
            )
        self._forwarded = Forwarded(forwarded_props)
        self._settings = Settings(
            Application(context, client_instructions), tuple(predict_state), client_user_id
        )
        hold_tools()

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: what was kept of the pause can't be resumed; nothing was done.
            AgentFailed: the agent ended in an error.
            AgentRefused: a check of the agent would not go on.
            Fenced, PolicyFailed: see `ToolGate.before`.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        agent = self._agent if isinstance(self._agent, Agent | Team) else self._agent(run)
        given = self._dependencies(run) if self._dependencies is not None else None
        if isinstance(given, Awaitable):
            given = await given
        given = self._forwarded.beside(given or {}, run) or None
        turn = Turn(run, agent, given, self._settings)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: the agent is the application's."""
