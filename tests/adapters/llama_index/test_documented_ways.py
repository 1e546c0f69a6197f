"""The ways in which LlamaIndex's own documentation has people asked, behind the bridge as they are.

Each does what an example there does, in words of ours: "Human in the loop" of workflows and of
agents, the introductions to `FunctionAgent` and to `AgentWorkflow` with several agents, agents that
are tools, and an event of one's own that lets a command run.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from workflows import Context, Workflow, step
from workflows.events import (
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
)

from agui_bridge import Bridge
from agui_bridge.testing import talk
from examples.llama_index.model import Call, OfflineModel


def scripted(*steps: str | Call) -> OfflineModel:
    """A model that says one thing after the other; `{told}` in a text is all that it reads."""
    left = list(steps)

    async def reply(messages: list[ChatMessage], _: Collection[str]) -> AsyncIterator[str | Call]:
        said = left.pop(0)
        told = " | ".join(str(message.content) for message in messages)
        yield said.replace("{told}", told) if isinstance(said, str) else said

    return OfflineModel(reply)


def bridged(agent: Workflow) -> Bridge:
    """A bridge with one agent, added as it is."""
    bridge = Bridge("memory:", telemetry=False)
    bridge.add("one", agent)
    return bridge


def wiping(done: list[str]) -> Callable[[Context], Any]:
    """A tool that acts once a certain person says yes."""

    async def wipe(ctx: Context) -> str:
        """Wipe the disk."""
        question = "Wipe the disk?"
        answer = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_id=question,
            waiter_event=InputRequiredEvent(prefix=question, user_name="ann"),
            requirements={"user_name": "ann"},
        )
        if answer.response != "yes":
            return "left as it is"
        done.append("wiped")
        return "it is wiped"

    return wipe


@pytest.mark.parametrize("answer", ["yes", "no"])
@pytest.mark.parametrize("several", [False, True], ids=["FunctionAgent", "AgentWorkflow"])
async def test_a_tool_that_waits_for_one_person_is_asked_once_and_acts_once(
    several: bool, answer: str
) -> None:
    done: list[str] = []
    tool = wiping(done)
    model = scripted(Call("wipe"), "It says: {told}")
    agent: Workflow = FunctionAgent(name="cleaner", llm=model, tools=[tool])
    if several:
        agent = AgentWorkflow.from_tools_or_functions([tool], llm=model)
    async with talk(bridged(agent), "one") as one:
        asked = await one.say("Wipe the disk.")
        assert [ask["message"] for ask in asked.asks] == ["Wipe the disk?"]
        told = await one.answer(asked, answer)
        again = await one.answer(asked, answer)
    assert (told.ending, again.ending) == ("success", "success")
    assert ("it is wiped" if answer == "yes" else "left as it is") in told.text
    assert done == (["wiped"] if answer == "yes" else [])


async def test_a_step_that_returns_a_question_is_answered_after_a_restart(tmp_path: Path) -> None:
    class Numbers(Workflow):
        @step
        async def begin(self, ev: StartEvent) -> InputRequiredEvent:
            """Ask."""
            return InputRequiredEvent(prefix="Enter a number: ")

        @step
        async def end(self, ev: HumanResponseEvent) -> StopEvent:
            """Give it back."""
            return StopEvent(result=ev.response)

    store = f"sqlite:///{tmp_path / 'threads.db'}"
    # Made without a time limit of its own: the workflow's is 45 s, and no question ends at it.
    async with talk(bridged(Numbers()), "one", store=store) as one:
        asked = await one.say("hello")
    async with talk(bridged(Numbers()), "one", store=store) as one:
        assert (await one.answer(asked, "seven")).text == "seven"


class Verdict(Event):
    """What a person says of a command; no `HumanResponseEvent`, as a tool may wait for."""

    execute: bool
    command: str


class Proposal(InputRequiredEvent):
    """A command that is to run."""

    command: str


async def test_an_answer_of_a_type_of_its_own_has_its_form_and_may_change_the_command() -> None:
    done: list[str] = []

    async def propose_in_the_middle(ctx: Context, command: str) -> str:
        """Run a command."""
        asked = Proposal(prefix="Run it?", command=command)
        verdict = await ctx.wait_for_event(Verdict, waiter_event=asked)
        done.append(verdict.command)
        return f"ran {verdict.command}"

    model = scripted(Call("propose_in_the_middle", {"command": "ls"}), "{told}")
    agent = FunctionAgent(name="shell", llm=model, tools=[propose_in_the_middle])
    async with talk(bridged(agent), "one") as one:
        asked = await one.say("ls")
        assert "execute" in asked.asks[0]["responseSchema"]["anyOf"][0]["properties"]
        assert asked.asks[0]["metadata"]["command"] == "ls"
        told = await one.answer(asked, {"execute": True, "command": "ls -l"})
    assert "ran ls -l" in told.text, (told.ending, told.fault)
    assert done == ["ls -l"]


async def test_a_question_that_a_step_asks_anew_is_asked_though_it_is_the_same() -> None:
    class Numbers(Workflow):
        @step
        async def begin(self, ev: StartEvent) -> InputRequiredEvent:
            """Ask."""
            return InputRequiredEvent(prefix="Enter a number: ")

        @step
        async def end(self, ev: HumanResponseEvent) -> InputRequiredEvent | StopEvent:
            """Give it back, or ask again."""
            if not ev.response.isdigit():
                return InputRequiredEvent(prefix="Enter a number: ")
            return StopEvent(result=ev.response)

    async with talk(bridged(Numbers()), "one") as one:
        again = await one.answer(await one.say("hello"), "seven")
        assert [ask["message"] for ask in again.asks] == ["Enter a number: "]
        assert (await one.answer(again, "7")).text == "7"


async def test_what_a_tool_keeps_and_what_was_said_is_there_at_the_next_message() -> None:
    async def set_name(ctx: Context, name: str) -> str:
        """Keep a name."""
        async with ctx.store.edit_state() as kept:
            kept["state"]["name"] = name
        return f"kept {name}"

    async def get_name(ctx: Context) -> str:
        """Tell the name that is kept."""
        state = await ctx.store.get("state")
        return f"it is {state['name']}"

    model = scripted(Call("set_name", {"name": "Ann"}), "Fine.", Call("get_name"), "{told}")
    options: dict[str, Any] = {"tools": [set_name, get_name], "initial_state": {"name": "unset"}}
    agent = FunctionAgent(name="greeter", llm=model, **options)
    async with talk(bridged(agent), "one") as one:
        await one.say("I am Ann.")
        assert await one.state() == {"name": "Ann"}
        told = await one.say("Who am I?")
    assert "it is Ann" in told.text
    assert "I am Ann." in told.text, "the model reads what was said before"


def newsroom(done: list[str]) -> AgentWorkflow:
    """Three agents that hand over to one another, and write into one state; the last one asks."""

    async def note(ctx: Context, text: str) -> str:
        """Keep a note."""
        async with ctx.store.edit_state() as kept:
            kept["state"]["notes"] = [*kept["state"]["notes"], text]
        return "noted"

    async def publish(ctx: Context, title: str) -> str:
        """Publish, once somebody has agreed."""
        asked = InputRequiredEvent(prefix=f"Publish {title}?", title=title)
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=asked)
        if answer.response == "yes":
            done.append(title)
        return f"the editor said {answer.response}"

    def agent(name: str, tools: Sequence[Any], onward: list[str], *says: str | Call) -> Any:
        return FunctionAgent(
            name=name,
            description=f"Is the {name}.",
            llm=scripted(*says),
            tools=list(tools),
            can_handoff_to=onward,
        )

    def over(to: str) -> Call:
        return Call("handoff", {"to_agent": to, "reason": "it is their turn"})

    research = (Call("note", {"text": "it rains"}), over("writer"))
    write = (Call("note", {"text": "a draft"}), over("reviewer"))
    review = (Call("publish", {"title": "Rain"}), "It is out: {told}")
    return AgentWorkflow(
        agents=[
            agent("researcher", [note], ["writer"], *research),
            agent("writer", [note], ["reviewer", "researcher"], *write),
            agent("reviewer", [publish], ["writer"], *review),
        ],
        root_agent="researcher",
        initial_state={"notes": []},
    )


async def test_of_three_agents_the_last_one_asks_and_goes_on_in_its_own_place() -> None:
    done: list[str] = []
    async with talk(bridged(newsroom(done)), "one") as one:
        asked = await one.say("Write about the weather.")
        assert [ask["message"] for ask in asked.asks] == ["Publish Rain?"]
        assert (await one.state())["notes"] == ["it rains", "a draft"]
        assert done == []
        told = await one.answer(asked, "yes")
    assert "the editor said yes" in told.text
    assert done == ["Rain"]


async def test_an_agent_that_works_in_anothers_tool_gives_its_reply() -> None:
    helper = FunctionAgent(name="helper", llm=scripted("It rains."), tools=[])

    async def look_out(prompt: str) -> str:
        """Have somebody look out of the window."""
        return str(await helper.run(user_msg=prompt))

    model = scripted(Call("look_out", {"prompt": "weather"}), "{told}")
    agent = FunctionAgent(name="orchestrator", llm=model, tools=[look_out])
    async with talk(bridged(agent), "one") as one:
        told = await one.say("What is the weather?")
    assert "It rains." in told.text
