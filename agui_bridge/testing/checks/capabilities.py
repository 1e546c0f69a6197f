"""What an adapter declares is what it does."""

from __future__ import annotations

import inspect

from agui_bridge.adapters import AdapterCapabilities, Ask
from agui_bridge.policy import ProposedCall
from agui_bridge.protocol.answers.decisions import EDIT
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import expect
from agui_bridge.testing.scenario import AdapterScenario

CAPABILITIES = Table()

_SHOWN_BY = {
    "approve": "approval",
    "decline": "approval",
    "edit": "edited",
    "respond": "approval",
    "answer": "question",
    "subagents": "subagent",
    "stop": "slow",
}
"""What of the scenario shows a declared capability."""


@CAPABILITIES.check(
    hint="Declare exactly what the adapter does; name what another scenario shows in `elsewhere`."
)
async def capabilities(case: Case) -> None:
    """What is declared is shown by the scenario, and what is shown is declared."""
    scenario = case.scenario
    async with case.process() as process:
        declared = process.watched.capabilities
        for message in filter(None, (scenario.text, scenario.pause, scenario.subagent)):
            await process.conversation().say(message)
        runs = process.watched.runs
        asks = [ask for noted in runs if noted.pause for ask in noted.pause.asks]
        helped = any("SUBAGENT" in getattr(i, "type", "") for noted in runs for i in noted.items)
    _expect_shown(scenario, declared)
    adapter = scenario.adapter()
    await adapter.aclose()
    _expect_arguments(type(adapter))
    for ask in asks:
        _expect_declared(ask, declared)
    expect(declared.subagents or not helped, "it emits SUBAGENT events, undeclared")
    if scenario.subagent is not None:
        expect(helped, "it emits no SUBAGENT event for the message of `subagent`")


@CAPABILITIES.check(
    hint="Ask run.policy (agui_bridge.policy.judge) before each execution, approved or not.",
    needs=("approval",),
    declared="policy",
)
async def policy(case: Case) -> None:
    """What the policy denies is not executed."""

    def deny(call: ProposedCall) -> str:
        return "deny"

    before = len(await case.scenario.executions())
    async with case.process(policy=deny) as process:
        conversation = process.conversation()
        asked = await conversation.say(case.scenario.approval or "")
        if asked.asks:
            await conversation.answer(asked, {"approved": True})
        done = (await case.scenario.executions())[before:]
    expect(not done, f"the policy denied it, and still it carried out {done}")


def _expect_arguments(adapter: type) -> None:
    """A configuration file gives the options that name objects by the arguments' names."""
    named = getattr(adapter, "object_options", ())
    expect(not isinstance(named, str), f"object_options is the text {named!r}, no tuple of names")
    taken = inspect.signature(adapter).parameters
    unknown = [option for option in named if option not in taken]
    expect(not unknown, f"object_options names {unknown}, which {adapter.__name__} does not take")


def _expect_shown(scenario: AdapterScenario, declared: AdapterCapabilities) -> None:
    for capability, attribute in _SHOWN_BY.items():
        shown = getattr(scenario, attribute) is not None
        if getattr(declared, capability) and capability not in scenario.elsewhere:
            expect(shown, f"it declares {capability}=True, and the scenario has no `{attribute}`")


def _expect_declared(ask: Ask, declared: AdapterCapabilities) -> None:
    if ask.tool_call is None:
        expect(declared.answer, "it asks a question, and declares answer=False")
        return
    expect(declared.approve, "it asks for an approval, and declares approve=False")
    if ask.allowed is not None and EDIT in ask.allowed:
        expect(declared.edit, "its question allows edits, and it declares edit=False")
