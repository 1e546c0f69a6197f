"""The application's words in the requests to a graph's models, and nowhere else.

A graph's code calls its models itself, with the messages of its state or with others. What stood in
the state would be kept with it, turn by turn, and read by all of the graph's code. So the words are
put into the request: before what the person said last, where that is in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from agui_bridge.adapters import Run
from agui_bridge.frameworks.private_names import PrivateName

NAMES: Final = (PrivateName(BaseChatModel, "_convert_input"),)
"""What is replaced of LangChain's models: every request of theirs passes it."""


@dataclass(slots=True)
class Words:
    """What the application says to the models of a run.

    Attributes:
        text: the words.
        users: ids of what people said.
        said: what they said last.
        is_over: whether the run is. What a tool has begun in its context may go on, and ask models
            for somebody else.
    """

    text: str
    users: Collection[str]
    said: str
    is_over: bool = False

    @classmethod
    def of(cls, run: Run, text: str) -> Words | None:
        """Those of a run; None where there are none.

        Args:
            run: the run.
            text: the words.
        """
        users = {str(m.get("id")) for m in run.raw_messages if m.get("role") == "user"}
        return cls(text, users, run.text.strip()) if text else None

    def added(self, prompt: PromptValue) -> PromptValue:
        """A request with the words; as it is, where it has nothing that the person said."""
        if self.is_over:
            return prompt
        messages = prompt.to_messages()
        people = [n for n, one in enumerate(messages) if isinstance(one, HumanMessage)]
        if any(str(messages[place].text).startswith(self.text) for place in people):
            # A model hands its request on to another one.
            return prompt
        place = self._place_in(messages, people)
        if place is None:
            return prompt
        content: Any = messages[place].content
        if isinstance(content, str):
            content = f"{self.text}\n\n{content}"
        else:
            content = [{"type": "text", "text": self.text}, *content]
        told = messages[place].model_copy(update={"content": content})
        return ChatPromptValue(messages=[*messages[:place], told, *messages[place + 1 :]])

    def _place_in(self, messages: Sequence[BaseMessage], people: Sequence[int]) -> int | None:
        """Where the person said it last; None where a request does not have it."""
        known = [place for place in people if messages[place].id in self.users]
        if known or not people:
            return known[-1] if known else None
        # A graph may give what is said an id of its own, and what is alike need not be that: an
        # example, for one, or what another turn said.
        last = messages[people[-1]]
        return people[-1] if self.said and last.text.strip() == self.said else None


WORDS: Final[ContextVar[Words | None]] = ContextVar("agui_bridge_langgraph.words", default=None)
"""Those of the run that this task belongs to; LangGraph's tasks and threads inherit them."""


@contextmanager
def speaking(words: Words | None) -> Iterator[None]:
    """Within, models read these words."""
    token = WORDS.set(words)
    try:
        yield
    finally:
        WORDS.reset(token)


def hook_models() -> None:
    """Have every chat model's request pass by the words of its run.

    Outside of a run of the bridge nothing changes. Once is enough; again does no harm.
    """
    models: Any = BaseChatModel
    convert = models._convert_input
    if getattr(convert, "agui_bridge", False):
        return

    def converted(self: Any, *given: Any, **named: Any) -> PromptValue:
        prompt: PromptValue = convert(self, *given, **named)
        words = WORDS.get()
        return prompt if words is None else words.added(prompt)

    hooked: Any = converted
    hooked.agui_bridge = True
    models._convert_input = hooked
