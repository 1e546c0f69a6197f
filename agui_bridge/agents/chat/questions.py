"""A question to the user that a model asks by calling a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.parameter_schema import parameter_schema
from agui_bridge.protocol.answers.decisions import Cancel
from agui_bridge.protocol.schemas.checking import find_schema_fault
from agui_bridge.protocol.threads.records import Json

__all__ = ["AskUser"]

_UNANSWERED: Final = "The user did not answer."


class AskUser:
    """A tool with which the model asks the user: the run pauses until there is an answer.

    Args:
        name: for the model.
        description: for the model: when to ask.
        schema: a model or JSON Schema of the answer, which becomes a form. None takes any text,
            or one of the options that the model gives.
    """

    def __init__(
        self,
        name: str = "ask_user",
        *,
        description: str = "Ask the user a question, and wait for the answer.",
        schema: type[BaseModel] | Mapping[str, Json] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self._schema = parameter_schema(schema, None)
        properties: dict[str, Json] = {"question": {"type": "string", "minLength": 1}}
        if self._schema is None:
            options = {"type": "array", "items": {"type": "string"}, "minItems": 2}
            properties["options"] = {**options, "description": "What the answer may be."}
        self.parameters: dict[str, Json] = {
            "type": "object",
            "properties": properties,
            "required": ["question"],
        }

    def describe(self) -> dict[str, Json]:
        """Describe it as chat completions want it."""
        function = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**function, "parameters": self.parameters}}

    def find_fault(self, args: Mapping[str, Json]) -> str | None:
        """Say what is wrong with the arguments of a call; None when they fit.

        Args:
            args: the arguments as the model wrote them, parsed.
        """
        return find_schema_fault(self.parameters, args)

    async def ask(self, run: FunctionRun, args: Mapping[str, Any], key: str) -> str:
        """Ask the user; gives the answer as the model reads it.

        Args:
            run: the run, which ends here until the answer has come.
            args: the call's, which fit.
            key: tells the question apart.
        """
        schema = self._schema
        if schema is None:
            text: dict[str, Json] = {"type": "string", "title": "Answer"}
            if args.get("options"):
                text["enum"] = args["options"]
            schema = {"type": "object", "properties": {"answer": text}, "required": ["answer"]}
        decision = await run.decide(args["question"], schema=schema, key=key)
        if isinstance(decision, Cancel):
            return _UNANSWERED
        answer = decision.payload
        if self._schema is None and isinstance(answer, dict):
            answer = answer["answer"]
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
