"""An input on its way through the engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ag_ui.core import Context, RunAgentInput

from agui_bridge.adapters import Adapter
from agui_bridge.approvals import Approvals
from agui_bridge.engine.input.settings import DisconnectPolicy, Settings
from agui_bridge.frozen import dataclass, replace
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.from_message import Extractor
from agui_bridge.protocol.dialects import ParsedInput
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, ThreadKey, ThreadRecord
from agui_bridge.protocol.wire.run_events import RefusalChoice

# --- the `context` of inputs that no agent has had is kept, and comes with the run that goes on ---


def context_of(input: RunAgentInput) -> Sequence[Mapping[str, Json]]:
    """An input's context as it is stored; empty where it brings none."""
    return [entry.model_dump(mode="json", by_alias=True) for entry in input.context or ()]


def with_held_context(input: RunAgentInput, record: ThreadRecord | None) -> RunAgentInput:
    """An input as its agent gets it: the newest context counts, its own or a held one.

    Args:
        input: as it came.
        record: the thread before the input.
    """
    if input.context or record is None or not record.held_context:
        return input
    held = [Context.model_validate(entry) for entry in record.held_context]
    return input.model_copy(update={"context": held})


# --- an agent as it was registered ---


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as it was registered.

    Attributes:
        name: its name in addresses.
        adapter: what runs it.
        description: for people, "" when there is none.
        settings: the bridge's settings with this agent's own changes.
        policy: judges its tool calls; None when there is no policy, or it is exempt.
        approvals: says who may answer its questions; None: anyone of the scope.
        exempt: whether the bridge's policy does not apply to it.
        extract: makes answers of messages for auto-resume; None: by the built-in rules.
        declares: what its author declares, in the shape of AG-UI's AgentCapabilities.
    """

    name: str
    adapter: Adapter
    settings: Settings
    description: str = ""
    policy: Policy | None = None
    approvals: Approvals | None = None
    exempt: bool = False
    extract: Extractor | None = None
    declares: Mapping[str, Json] = field(default_factory=dict)

    @property
    def approves(self) -> bool:
        """Whether it may ask for approvals: by itself, or because its policy has people asked."""
        by_policy_alone = getattr(self.adapter, "asks_by_policy_alone", False)
        can = self.adapter.capabilities
        return can.approve and (self.policy is not None or not by_policy_alone)

    @property
    def read_only_tools(self) -> frozenset[str]:
        """Names of its tools that only look: as it declares them, and by its settings."""
        declared = getattr(self.adapter, "read_only_tools", ())
        return frozenset((*declared, *self.settings.read_only_tools))


QuestionWords = Callable[[Mapping[str, Json], Interrupt], Mapping[str, Json]]
"""Gives a question as a client is told it: from what all see of it, and from what is stored."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One input for one thread.

    Attributes:
        agent: who shall answer.
        principal: the caller.
        parsed: the input, normalised.
        on_disconnect: what happens to the run when the caller goes away.
        refusals: how the request asks to be refused, apart from its input; None: it does not say.
        via: through what it came, for the history: see `AuditEntry`.
        heavy: whether it is so large that what is done with it takes turns.
        scope: whose thread it is, where a principal answers for another scope; None: its own.
        words: puts the questions that the caller is told in other words; None: as they are.
        looks: whether nobody sends it: somebody has looked after work that a run has left.
        wakes: whether nobody sends it: the time of a run that sleeps may have come.
        takes_up: whether nobody sends it: a run may be lost that this process can take up.
    """

    agent: Agent
    principal: Principal
    parsed: ParsedInput
    on_disconnect: DisconnectPolicy = "stop"
    refusals: RefusalChoice | None = None
    via: str = "agui"
    heavy: bool = False
    scope: str | None = None
    words: QuestionWords | None = None
    looks: bool = False
    wakes: bool = False
    takes_up: bool = False

    @property
    def refused_as(self) -> RefusalChoice:
        """How it is refused: as the request says, else its input, else the agent."""
        return self.refusals or self.parsed.refusals or self.agent.settings.refusals

    @property
    def key(self) -> ThreadKey:
        """The thread that the input is for."""
        scope = self.principal.scope if self.scope is None else self.scope
        return ThreadKey(scope, self.agent.name, self.parsed.input.thread_id)

    @property
    def acts_as(self) -> Principal:
        """Who asks, as the run sees it: in the thread's scope, where all that it does belongs."""
        if self.scope is None:
            return self.principal
        return replace(self.principal, scope=self.scope)

    @property
    def answers_to(self) -> list[str]:
        """Ids of the questions that it answers."""
        return [entry.interrupt_id for entry in self.parsed.entries]

    @property
    def run_id(self) -> str:
        """The run's id as the client chose it; clients re-use them."""
        return self.parsed.input.run_id


# --- by what an input is known again: its run's id and the newest message that it brings ---
#
# Source: docs/contract.md, row 8a.


def receipt_of(submission: Submission) -> str | None:
    """Key of an input's receipt, beside those of batches.

    None where nothing tells it again, and for answers, which are known by what they answer.
    """
    newest = _newest(submission.parsed.messages)
    if submission.parsed.entries or newest is None:
        return None
    return receipt_key(submission.run_id, newest)


def receipt_key(run_id: str, newest: str) -> str:
    """Key of the receipt of an input.

    Args:
        run_id: of its run.
        newest: id of the newest message that it brings.
    """
    pair = json.dumps([run_id, newest]).encode()
    return f"input:{hashlib.sha256(pair).hexdigest()[:32]}"


def _newest(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The id of a list's last user message, or of the call whose result comes behind it."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return str(message["id"])
        if message.get("role") == "tool":
            return str(message.get("toolCallId"))
    return None
