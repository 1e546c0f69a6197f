"""The configuration of the kit: how to make an agent pause, count what it does, restart it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agui_bridge.conformance.verdicts import PROFILES, Need, Profile
from agui_bridge.errors import ConfigurationError
from agui_bridge.yaml_files.faults import refusal_of

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

NEAR_MISSES: Final[tuple[Any, ...]] = (
    {"approved": "true"}, {"approved": "false"}, {"approved": 1}, {"approved": None}, {},
    "no", "yes", "ok", True, [], None, {"approve": True},
)  # fmt: skip
"""Payloads that are no approval, though careless code takes them for one."""


GARBAGE: Final[tuple[Any, ...]] = (
    {}, {"approved": "perhaps"}, {"confirm": "perhaps"}, {"unknown": True}, "garbage", 17, [],
)  # fmt: skip
"""Payloads of the wrong type, without members, or with those that nobody asked for."""


class _Strict(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class Prompts(_Strict):
    """User messages that make the agent do what a check needs; `{marker}` is unique per thread.

    Attributes:
        approval: asks for approval of one tool call, whose arguments hold the marker.
        parallel: asks for approval of two calls of one tool at once, both with the marker.
        confirmation: asks to confirm what it then executes once, with the marker in it.
        form: asks a question with a response schema.
        amid: begins a tool call unasked, whose tool asks a question at that call before it is
            carried out; the arguments hold the marker.
        falsy: asks a question whose answer may be `false` itself.
        expiring: as `approval`, and the interrupt expires within seconds.
        text: is answered with text, and with success.
        slow: streams text for some seconds.
        subagents: as `approval`, asked by a sub-agent of a sub-agent of a sub-agent.
        frontend: calls a tool of the application's.
    """

    approval: str
    parallel: str | None = None
    confirmation: str | None = None
    form: str | None = None
    amid: str | None = None
    falsy: str | None = None
    expiring: str | None = None
    text: str | None = None
    slow: str | None = None
    subagents: str | None = None
    frontend: str | None = None


class Answers(_Strict):
    """Payloads, as this endpoint understands them; `{marker}` is replaced within.

    Attributes:
        approve: approves a tool call.
        deny: declines it.
        edit: approves with other arguments, which hold `{marker}-edited`; None if unsupported.
        bad_edits: edits that the tool's schema forbids.
        near_misses: payloads that are no approval.
        confirm: answers `prompts.confirmation`.
        garbage: payloads that are no answer to anything, as far as the responseSchema of a
            question forbids them.
        form: answers `prompts.form`.
        amid: answers `prompts.amid`.
        bad_form: payloads that its schema forbids.
    """

    approve: Any = Field(default_factory=lambda: {"approved": True})
    deny: Any = Field(default_factory=lambda: {"approved": False})
    edit: Any = None
    bad_edits: tuple[Any, ...] = ()
    near_misses: tuple[Any, ...] = NEAR_MISSES
    confirm: Any = Field(default_factory=lambda: {"confirm": True})
    garbage: tuple[Any, ...] = GARBAGE
    form: Any = None
    amid: Any = None
    bad_form: tuple[Any, ...] = ()


class Executions(_Strict):
    """How executions of the gated tool are counted from outside; one of the three.

    Attributes:
        file: lines that hold the marker are counted.
        url: answers GET with a number, a list, or lines; `{marker}` is replaced.
        command: prints the same.
    """

    file: Path | None = None
    url: str | None = None
    command: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one(self) -> Executions:
        if sum(source is not None for source in (self.file, self.url, self.command)) != 1:
            raise ValueError("say one of file, url and command")
        return self


class Server(_Strict):
    """Processes that the kit itself starts and ends, one for each port.

    Attributes:
        command: with `{port}`, `{folder}` (a temporary folder of this run) and `{python}` (the
            interpreter that the kit runs in).
        ready: is asked until it answers anything but 5xx; by default the endpoint's own URL.
        start_seconds: how long it may take to start.
        ports: the first serves `url`, the second `second_url`; 0 is any free one.
        folder: where it is started; the current one by default.
        environment: variables on top of the present ones.
    """

    command: tuple[str, ...]
    ready: str | None = None
    start_seconds: float = Field(default=60.0, gt=0)
    ports: tuple[int, ...] = (0,)
    folder: Path | None = None
    environment: dict[str, str] = Field(default_factory=dict)


class Restart(_Strict):
    """A command that restarts the server, and when it is back.

    Attributes:
        command: returns once the old process is gone.
        ready: is asked until it answers anything but 5xx; by default the endpoint's own URL.
        start_seconds: how long that may take.
    """

    command: tuple[str, ...]
    ready: str | None = None
    start_seconds: float = Field(default=60.0, gt=0)


class StopRequest(_Strict):
    """The request that stops a thread's run; `{thread}` is replaced.

    Attributes:
        url: where it goes.
        body: its JSON, if any.
    """

    url: str
    body: Any = None


class Config(_Strict):
    """Everything that the kit has to know of one endpoint.

    Attributes:
        name: for reports.
        url: of the endpoint; the command line's argument goes before it.
        second_url: another process on the same store.
        headers: sent with every request; `${NAME}` is an environment variable.
        foreign_headers: the same of another principal.
        frontend_tool: the tool that `prompts.frontend` makes it call.
        expires_after: seconds after which an interrupt of `prompts.expiring` has expired.
        memory: whether the server keeps the conversation, so that a client may know nothing.
        draft_url: the endpoint as it speaks the draft of interrupts.
        capabilities: where capabilities are read over HTTP.
        profiles: whose rules are checked.
        skip: ids of checks, each with the reason.
        timeout: seconds that one check may take.
        settle: seconds after which an execution that was not awaited would be seen.
        races: how often each race is run.
        concurrency: how many checks run at once.
        prompts: what to say so that it does what a check needs.
        answers: payloads, as the endpoint understands them.
        executions: where what was executed is counted; None leaves checks of it out.
        server: how a server is started that the kit may kill.
        restart: how the endpoint is restarted.
        stop: the request that stops a run.
    """

    name: str = ""
    url: str = ""
    second_url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    foreign_headers: dict[str, str] | None = None
    memory: bool = True
    draft_url: str | None = None
    capabilities: str | None = None
    profiles: tuple[Profile, ...] = PROFILES
    skip: dict[str, str] = Field(default_factory=dict)
    timeout: float = Field(default=30.0, gt=0)
    settle: float = Field(default=0.3, ge=0)
    races: int = Field(default=5, ge=1)
    concurrency: int = Field(default=8, ge=1)
    frontend_tool: str = "show_page"
    expires_after: float = Field(default=2.0, gt=0)
    prompts: Prompts
    answers: Answers = Answers()
    executions: Executions | None = None
    server: Server | None = None
    restart: Restart | None = None
    stop: StopRequest | None = None

    def lacks(self, need: Need) -> str | None:
        """The key of what a check needs and this configuration does not have; None if it has it.

        A second process and restarts are up to the lab, which may have them from elsewhere.

        Args:
            need: one of those that a check may name.
        """
        found: dict[str, tuple[object, str]] = {
            "edits": (self.answers.edit, "answers.edit"),
            "executions": (self.executions, "executions"),
            "stop": (self.stop, "stop"),
            "foreign": (self.foreign_headers is not None, "foreign_headers"),
            "draft": (self.draft_url, "draft_url"),
            "capabilities": (self.capabilities, "capabilities"),
            "memory": (self.memory, "memory = true"),
        }
        if need in ("second", "restart"):
            return None
        has, key = found.get(need) or (getattr(self.prompts, need), f"prompts.{need}")
        return None if has else key


def load(path: Path) -> Config:
    """Read a configuration file.

    Args:
        path: of the TOML file.

    Raises:
        ConfigurationError: it is missing, is no TOML, has a wrong or unknown member, or names an
            environment variable that is not set.
    """
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigurationError(f"{path} is no TOML: {error}.") from None
    try:
        return Config.model_validate(_expanded(values, path))
    except ValidationError as error:

        def place(where: tuple[str | int, ...]) -> str:
            return ": ".join(filter(None, (str(path), ".".join(map(str, where)))))

        raise refusal_of(error, Config, str(path), place) from None


def filled(value: Any, **values: str) -> Any:
    """The value with `{name}` replaced in every string of it; tuples come back as lists."""

    def fill(text: str) -> str:
        for name, given in values.items():
            text = text.replace(f"{{{name}}}", given)
        return text

    return _changed(value, fill)


def _expanded(value: Any, path: Path) -> Any:
    def look_up(match: re.Match[str]) -> str:
        try:
            return os.environ[match[1]]
        except KeyError:
            raise ConfigurationError(
                f"{path} names the environment variable {match[1]}, which is not set."
            ) from None

    return _changed(value, lambda text: _VARIABLE.sub(look_up, text))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """The value with every string of it changed, but for keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    return [_changed(item, change) for item in value] if isinstance(value, list | tuple) else value
