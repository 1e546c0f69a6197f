"""Tools of a chat agent: functions, and what a person must approve of their calls."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Final, Literal, Protocol, TypeVar, overload, runtime_checkable

from pydantic import BaseModel, PydanticUserError
from pydantic_core import ArgsKwargs

from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.parameter_schema import function_adapter, parameter_schema
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.decisions import Cancel
from agui_bridge.protocol.previews import MakePreview
from agui_bridge.protocol.schemas.checking import UnsafeSchema, find_schema_fault
from agui_bridge.protocol.threads.records import Json

# --- a question to the user that a model asks by calling a tool ---

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


F = TypeVar("F", bound=Callable[..., Any])

Approval = Literal["always", "never"] | Callable[[dict[str, Json]], bool]
"""Whether a call must be approved; a function judges by the call's arguments (JSON)."""


class Tool:
    """A function that a model may call.

    Args:
        function: async, or sync (then it runs in a thread). It takes its arguments by name; they
            are validated by its annotations, and what it returns must have a JSON form.
        name: for the model and for people; by default the function's.
        description: for the model; by default the function's docstring.
        approval: whether a person must approve each call; by default `always` where it is
            destructive, else `never`.
        destructive: whether it may destroy something; the question says so in its metadata.
        read_only: whether it only looks: its calls can be taken back without the sign of
            docs/reconnecting.md, and are not told to the model as done.
        editable: whether people may edit the arguments that they approve.
        message: what people read when they are asked, `{name}` being the tool's.
        preview: a function of the call's arguments (JSON), async or sync, that says what the call
            would do: it is called when people are to be asked. Where it fails nobody is asked, and
            the model is told that the call was not executed.

    Attributes:
        parameters: JSON Schema of the arguments.

    Raises:
        ConfigurationError: its signature has no JSON Schema, the approval or the preview is none,
            the message has other braces, or it is both destructive and read-only.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Approval | None = None,
        destructive: bool = False,
        read_only: bool = False,
        editable: bool = True,
        message: str = "Allow {name}?",
        preview: MakePreview | None = None,
    ) -> None:
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", type(function).__name__))
        self.description: str = inspect.cleandoc(description or function.__doc__ or "")
        self.approval: Approval = "always" if destructive else "never"
        if approval is not None:
            self.approval = _checked(self.name, approval)
        if destructive and read_only:
            raise ConfigurationError(
                f"The tool {self.name!r} can't be destructive and read-only: leave one out."
            )
        if preview is not None and not callable(preview):
            raise ConfigurationError(
                f"The preview of the tool {self.name!r} is a function of the call's arguments, "
                f"not {type(preview).__name__}."
            )
        self.preview = preview
        self.destructive = destructive
        self.read_only = read_only
        self.editable = editable
        self._message = message
        try:
            _ = self.message
        except (LookupError, ValueError, AttributeError):
            raise ConfigurationError(
                f"The message of the tool {self.name!r} may hold {{name}} and no other braces "
                f"(write those twice): {message!r:.80}."
            ) from None
        try:
            self._call = function_adapter(function)
            schema = parameter_schema(None, function)
        except (PydanticUserError, UnsafeSchema, TypeError, ValueError, NameError) as error:
            raise ConfigurationError(
                f"The tool {self.name!r} can't be described to a model: {error}\n"
                "Annotate its parameters with types that have a JSON form."
            ) from None
        self.parameters: dict[str, Json] = {} if schema is None else schema
        if self.parameters.get("type") != "object":
            raise ConfigurationError(
                f"The tool {self.name!r} has parameters without a name: a model passes all by name."
            )
        self.fn: Callable[..., Any] = self._carrying_out()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were no tool."""
        return self.function(*args, **kwargs)

    @property
    def message(self) -> str:
        """What people read when they are asked."""
        return self._message.format(name=self.name)

    def but(self, *, name: str | None = None, approval: Approval | None = None) -> Tool:
        """The same tool under another name, or approved otherwise.

        Args:
            name: for the model and for people; None keeps it.
            approval: whether its calls are approved; None keeps it.

        Raises:
            ConfigurationError: the approval is none.
        """
        other = copy(self)
        other.name = name or self.name
        if approval is not None:
            other.approval = _checked(other.name, approval)
        return other

    def describe(self) -> dict[str, Json]:
        """Describe it as chat completions want it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }

    def find_fault(self, args: Mapping[str, Json]) -> str | None:
        """Say what is wrong with the arguments of a call; None when they fit.

        Args:
            args: the arguments as the model wrote them, parsed.
        """
        return find_schema_fault(self.parameters, args)

    def _carrying_out(self) -> Callable[..., Any]:
        """Wrap the function so that it gets what its annotations say, not bare JSON."""
        # Validating the arguments of a function calls it.
        validated = self._call.validate_python

        @functools.wraps(self.function)
        def carry_out(**args: Any) -> Any:
            return validated(ArgsKwargs((), args))

        @functools.wraps(self.function)
        async def carry_out_async(**args: Any) -> Any:
            return await validated(ArgsKwargs((), args))

        return carry_out_async if inspect.iscoroutinefunction(self.function) else carry_out


@runtime_checkable
class ToolSource(Protocol):
    """Has tools that are known only when a run begins, such as those of MCP servers."""

    async def chat_tools(self, run: FunctionRun) -> Sequence[Tool]:
        """The tools, the same at each replay.

        Args:
            run: which remembers them.
        """
        ...

    async def serve_view(self, run: FunctionRun) -> bool:
        """Answer what a view of a tool asks, where the run is for that; whether it was.

        Args:
            run: gets the answer as its result.
        """
        ...


def _checked(name: str, approval: Approval) -> Approval:
    # Type hints bind nobody, and a word that nobody knows must not mean "never".
    if approval not in ("always", "never") and not callable(approval):
        raise ConfigurationError(
            f'The approval of the tool {name!r} is "always", "never" or a function of the '
            f"call's arguments, not {approval!r:.80}."
        )
    return approval


@overload
def tool(function: F, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval | None = None,
    destructive: bool = False,
    read_only: bool = False,
    editable: bool = True,
    message: str = ...,
    preview: MakePreview | None = None,
) -> Callable[[F], Tool]: ...


def tool(function: F | None = None, /, **options: Any) -> Tool | Callable[[F], Tool]:
    """Make a tool of a function (decorator, with parentheses or without).

    Args:
        function: see `Tool`.
        **options: see `Tool`.

    Raises:
        ConfigurationError: its signature has no JSON Schema.
    """
    if function is not None:
        return Tool(function)
    return lambda decorated: Tool(decorated, **options)
