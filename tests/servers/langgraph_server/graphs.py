"""What `langgraph dev` serves to the tests: the pauses of LangGraph's documentation.

They know nothing of agui-bridge. Each effect is a line of the file that EFFECTS names; what the
mailer's model was asked last is in the one that HEARD names.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.adapters.langgraph.model import ScriptedModel, asked_of, mails

State = dict[str, Any]


def effect(told: Any) -> None:
    """Note what was done."""
    with Path(os.environ["EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def note(heard: Any) -> None:
    """Note what a model is asked."""
    Path(os.environ["HEARD"]).write_text(json.dumps(heard), encoding="utf-8")


def flow(*nodes: Any, schema: Any = MessagesState, **compiled: Any) -> Any:
    """Nodes one after the other."""
    builder: Any = StateGraph(schema, context_schema=compiled.pop("context_schema", None))
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    return builder.compile(**compiled)


# --- an agent of LangChain with its own approvals ---


class Model(ScriptedModel):
    """The scripted model, which notes what it is asked."""

    async def _astream(
        self, messages: list[BaseMessage], *more: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        note([message.model_dump(mode="json") for message in messages])
        verb, _, words = asked_of(messages)[0].partition(" ")
        if verb == "slow" and words.isdecimal():
            for _ in range(int(words)):
                yield ChatGenerationChunk(message=AIMessageChunk(content="word "))
                await asyncio.sleep(0.05)
            return
        async for chunk in super()._astream(messages):
            yield chunk


@tool
async def send_email(to: str, body: str = "Hi") -> str:
    """Send an email."""
    effect({"to": to, "body": body})
    if to.startswith("hang"):
        await asyncio.sleep(600)
    return f"sent to {to}"


@tool
async def look_up(name: str) -> str:
    """Look somebody up."""
    effect(f"looked up {name}")
    return f"{name} is known"


@tool
async def look_up_slowly(name: str) -> str:
    """Look somebody up, in no hurry."""
    await asyncio.sleep(1.0)
    effect(f"looked up {name}")
    return f"{name} is known"


@tool
async def ask_user(question: str) -> str:
    """Ask the user."""
    schema = {"type": "object", "required": ["answer"]} if question == "colour" else None
    answer = interrupt({"message": f"Which {question}?", "responseSchema": schema})
    if answer is not None or question != "colour":
        effect(answer)
    return f"answered {answer!r}"


@tool
async def delegate(task: str) -> str:
    """Have somebody else do it."""
    answer = await secretary.ainvoke({"messages": [HumanMessage(task)]})
    return str(answer["messages"][-1].text)


TOOLS = [send_email, look_up, look_up_slowly, ask_user]
REVIEW = HumanInTheLoopMiddleware(
    {"send_email": {"allowed_decisions": ["approve", "edit", "reject", "respond"]}}
)
secretary = create_agent(Model(steps=mails), TOOLS, middleware=[REVIEW], name="secretary")
mailer = create_agent(Model(steps=mails), [*TOOLS, delegate], middleware=[REVIEW])


# --- questions in nodes ---


def ask(_: State) -> State:
    """Ask for a boolean, which LangGraph's server does not check."""
    answer = interrupt({"message": "Deploy?"}, response_schema={"type": "boolean"})
    effect(answer)
    return {"messages": [AIMessage("deployed" if answer else "left alone")]}


deploy = flow(ask)


def first(_: State) -> State:
    """One of two questions at once."""
    answer = interrupt("What is your name?")
    effect(f"name {answer}")
    return {"messages": [AIMessage(f"name {answer}")]}


def second(_: State) -> State:
    """The other one."""
    answer = interrupt("How old are you?")
    effect(f"age {answer}")
    return {"messages": [AIMessage(f"age {answer}")]}


_several: Any = StateGraph(MessagesState)
for _node in (first, second):
    _several.add_node(_node.__name__, _node)
    _several.add_edge(START, _node.__name__)
several = _several.compile()


def before(_: State) -> State:
    """What stands before a subgraph."""
    effect("before")
    return {"messages": [AIMessage("before")]}


_within: Any = StateGraph(MessagesState)
_within.add_node("before", before)
_within.add_node("inner", deploy)
_within.add_edge(START, "before")
_within.add_edge("before", "inner")
within = _within.compile()


class Context(TypedDict, total=False):
    """What an assistant or a run is configured with."""

    language: str


class Shared(MessagesState):
    """A state with something that pages see and change."""

    document: str


def write(state: Any, runtime: Runtime[Context]) -> State:
    """Tell what it was configured with, and what the state has."""
    language = (runtime.context or {}).get("language", "none")
    said = AIMessage(f"{language}: {state.get('document', 'nothing')}")
    return {"messages": [said], "document": f"{state.get('document', '')}!"}


configured = flow(write, schema=Shared, context_schema=Context)


def go(_: State) -> State:
    """What stands behind a breakpoint that was compiled in."""
    effect("went")
    return {"messages": [AIMessage("went")]}


stands = flow(go, interrupt_before=["go"])
