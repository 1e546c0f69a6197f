"""An agent on the official Python SDK: it works off a script, and asks before some of its calls.

Run as a program: `python agent.py FOLDER`. A prompt names a script. What a call does is a line in
FOLDER/effects; what the model was told last is FOLDER/heard.json. Sessions are files under HOME,
as with real agents. A turn that was cancelled is gone on with as a model would: by what the next
prompt says was approved.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import sys
import time
from pathlib import Path
from typing import Any, Final

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    run_agent,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message,
    update_agent_thought_text,
    update_plan,
    update_user_message,
)
from acp.helpers import plan_entry
from acp.schema import (
    AgentCapabilities,
    CurrentModeUpdate,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    Usage,
)

DEPLOY: Final = ("ask", "deploy", {"version": "v2.0"})
NOTIFY: Final = ("ask", "notify", {"who": "ann"})
LOOK: Final = ("act", "look", {"path": "/"})
SCRIPTS: Final[dict[str, list[Any]]] = {
    "deploy": [DEPLOY, ("say", "Done.")],
    "both": [("together", [DEPLOY, NOTIFY]), ("say", "Done.")],
    "twice": [DEPLOY, NOTIFY, ("say", "Done.")],
    "beside": [LOOK, DEPLOY, ("say", "Done.")],
    "stages": [DEPLOY, LOOK, ("say", "Done.")],
    "acting": [*[("act", "dig", {"depth": depth}) for depth in range(6)], ("say", "Done.")],
    "slow": [("say", "Working. "), ("sleep", 120), ("say", "Late.")],
    "form": [("form", "Which name?"), ("say", "Thanks.")],
    "think": [("think", "Hm."), ("plan", "one"), ("say", "So.")],
    "shows": [("shows", "write", {"filePath": "a", "text": "b"}), ("say", "Done.")],
    "change": [("ask", "write", {"path": "a.txt"}, ["one\n", "two\n"]), ("say", "Done.")],
    "big": [("ask", "write", {"path": "a.txt"}, ["", "line\n" * 20_000]), ("say", "Done.")],
    "run": [("ask", "shell", {"command": ["rm", "-r", "my files"], "cwd": "/srv"})],
    "always": [("always", "deploy", {"version": "v3"}), ("say", "Done.")],
    "dies": [("dies", "deploy", {"version": "v4"})],
    "refuses": [("refuse",)],
    "leaves": [("mode", "auto"), ("say", "Free.")],
    "keys": [("keys",)],
    "pid": [("pid",)],
    "flood": [("flood", 2000)],
}
APPROVED: Final = re.compile(r"exactly as it was:\n(\w+) (\{.*\})")
DECIDED: Final = "Your last turn was ended"


class Cancelled(Exception):
    """The turn is cancelled."""


class Agent:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client: Any = None
        self.turns: dict[str, asyncio.Task[Any]] = {}
        # As real agents do: what another process adds to a session is seen once it is loaded.
        self.known: dict[str, dict[str, Any]] = {}
        self.sessions = Path(os.environ["HOME"]) / "sessions"
        self.sessions.mkdir(exist_ok=True)
        with open(folder / "pids", "a") as file:
            file.write(f"{os.getpid()}\n")
        print("a complaint", file=sys.stderr)

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    # --- setup ---

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session="FORGETS" not in os.environ,
                prompt_capabilities=PromptCapabilities(image=True),
            ),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        id = f"session-{secrets.token_hex(8)}"
        self.keep(id, {"cwd": cwd, "messages": [], "left": [], "mode": "auto"})
        return NewSessionResponse(session_id=id, modes=self.modes)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        if not self.file(session_id).exists():
            raise RequestError.invalid_params({"sessionId": "unknown"})
        self.known[session_id] = json.loads(self.file(session_id).read_text())
        for message in self.session(session_id)["messages"]:
            block = text_block(json.dumps(message))
            await self.client.session_update(session_id, update_user_message(block))
        kept = self.session(session_id)
        # The mode is forgotten, as real agents forget it.
        self.keep(session_id, {**kept, "mode": "auto"})
        return LoadSessionResponse(modes=self.modes)

    @property
    def modes(self) -> SessionModeState | None:
        names = os.environ.get("MODES")
        if names is None:
            return None
        modes = [SessionMode(id=name, name=name) for name in names.split(",")]
        return SessionModeState(current_mode_id="auto", available_modes=modes)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        self.keep(session_id, {**self.session(session_id), "mode": mode_id})
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        if "STUBBORN" not in os.environ and (turn := self.turns.get(session_id)) is not None:
            turn.cancel()

    # --- turns ---

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        turn = self.turns[session_id] = asyncio.create_task(self.turn(session_id, prompt))
        try:
            reason = await turn
        except asyncio.CancelledError:
            reason = "cancelled"
        except Cancelled:
            reason = "cancelled"
        usage = Usage(total_tokens=3, input_tokens=2, output_tokens=1)
        return PromptResponse(stop_reason=reason, usage=usage)

    async def turn(self, id: str, prompt: list[Any]) -> str:
        session = self.session(id)
        said = [block.text if block.type == "text" else block.data for block in prompt]
        session["messages"].append({"role": "user", "said": said})
        self.keep(id, session)
        (self.folder / "heard.json").write_text(json.dumps(session["messages"]))
        if said[0].startswith(DECIDED):
            steps = self.gone_on(session, said[0])
        else:
            words = said[-1].split()
            session["after"] = words[1:]
            steps = [*SCRIPTS.get(words[0], [("say", "Hello.")])] if words else [("say", "Hello.")]
        while steps:
            session["left"] = steps
            self.keep(id, session)
            reason = await self.step(id, session, steps[0])
            if reason is not None:
                return reason
            steps = steps[1:]
        session["left"] = []
        self.keep(id, session)
        return "end_turn"

    def gone_on(self, session: dict[str, Any], said: str) -> list[Any]:
        """What a model does next, by what was approved and how it is minded."""
        left: list[Any] = session["left"]
        change = left[0][3:] if left and left[0][0] == "ask" else []
        approved: list[Any] = [
            ("ask", name, json.loads(args), *change) for name, args in APPROVED.findall(said)
        ]
        kind = left[0][0] if left else ""
        if approved and kind in ("shows", "always", "dies"):
            approved = [(kind, *one[1:]) for one in approved]
        rest = left[1:]
        if kind == "form":
            return left
        match session["after"]:
            case ["other"]:
                return [("ask", "deploy", {"version": "v9"}), *rest]
            case ["again"]:
                return [*approved, *approved, *rest]
            case ["moved"]:
                return [("ask", "write", {"path": "a.txt"}, ["zero\n", "two\n"])]
            case ["nothing"]:
                return [("say", "Never mind.")]
            case ["insists"]:
                return left
            case ["dies"]:
                return [("exit",)]
        return [*approved, *rest]

    async def step(self, id: str, session: dict[str, Any], step: Any) -> str | None:
        kind, *rest = step
        match kind:
            case "say":
                session["messages"].append({"role": "assistant", "said": rest})
                await self.tell(id, update_agent_message(text_block(rest[0])))
            case "think":
                await self.tell(id, update_agent_thought_text(rest[0]))
            case "plan":
                await self.tell(id, update_plan([plan_entry(rest[0])]))
            case "sleep":
                await asyncio.sleep(rest[0])
            case "act":
                await self.act(id, session, *rest)
            case "together":
                await asyncio.gather(*(self.ask(id, session, *one[1:]) for one in rest[0]))
            case "ask":
                await self.ask(id, session, *rest)
            case "shows":
                await self.ask(id, session, *rest, shows=True)
            case "always":
                await self.ask(id, session, *rest, kinds=("allow_always", "reject_once"))
            case "dies":
                await self.ask(id, session, *rest, dies=True)
            case "form":
                await self.form(id, session, *rest)
            case "refuse":
                return "refusal"
            case "mode":
                update = CurrentModeUpdate(
                    session_update="current_mode_update", current_mode_id=rest[0]
                )
                await self.tell(id, update)
            case "keys":
                keys = json.dumps({**os.environ, "CWD": os.getcwd(), "MODE": session["mode"]})
                await self.tell(id, update_agent_message(text_block(keys)))
            case "pid":
                await self.tell(id, update_agent_message(text_block(str(os.getpid()))))
            case "flood":
                for number in range(rest[0]):
                    await self.tell(id, update_agent_message(text_block(f"{number} ")))
            case "exit":
                os._exit(1)
        return None

    async def tell(self, id: str, update: Any) -> None:
        await self.client.session_update(id, update)

    # --- calls ---

    async def act(self, id: str, session: dict[str, Any], name: str, args: Any) -> None:
        call = f"call-{secrets.token_hex(6)}"
        start = ToolCallStart(
            session_update="tool_call", tool_call_id=call, title=name, kind="execute",
            status="in_progress", raw_input=args, field_meta={"toolName": name},
        )  # fmt: skip
        await self.tell(id, start)
        await self.carry_out(id, session, call, name, args)

    async def carry_out(
        self, id: str, session: dict[str, Any], call: str, name: str, args: Any
    ) -> None:
        self.note(args)
        await asyncio.sleep(0.05)
        result = f"{name}: done"
        session["messages"].append({"role": "tool", "said": [result]})
        self.keep(id, session)
        done = ToolCallProgress(
            session_update="tool_call_update", tool_call_id=call, status="completed",
            content=[tool_content(text_block(result))],
        )  # fmt: skip
        await self.tell(id, done)

    async def ask(
        self, id: str, session: dict[str, Any], name: str, args: Any,
        change: list[str] | None = None, *, shows: bool = False, dies: bool = False,
        kinds: tuple[str, ...] = ("allow_once", "allow_always", "reject_once"),
    ) -> None:  # fmt: skip
        call = f"call-{secrets.token_hex(6)}"
        meta = {"toolName": name}
        if shows:
            start = ToolCallStart(
                session_update="tool_call", tool_call_id=call, title=name, kind="edit",
                status="in_progress", raw_input=args, field_meta=meta,
            )  # fmt: skip
            await self.tell(id, start)
            args = {**args, "diff": "+b"}
        response = await self.client.request_permission(
            session_id=id,
            tool_call=ToolCallUpdate(
                tool_call_id=call, title=f"{name}?", kind="execute", status="pending",
                raw_input=args, field_meta=meta,
                content=change and [tool_diff_content("/a.txt", change[1], change[0])],
            ),
            options=[PermissionOption(option_id=k, name=k, kind=k) for k in kinds],
        )  # fmt: skip
        outcome = response.outcome
        if outcome.outcome == "cancelled":
            if "STUBBORN" in os.environ:
                await asyncio.sleep(3600)
            raise Cancelled
        assert outcome.option_id in ("allow_once", "reject_once"), "it must not last"
        if outcome.option_id == "reject_once":
            failed = ToolCallProgress(
                session_update="tool_call_update", tool_call_id=call, status="failed"
            )
            await self.tell(id, failed)
            return
        (self.folder / "allowed").touch()
        if dies:
            self.note(args)
            os._exit(1)
        await self.carry_out(id, session, call, name, args)

    async def form(self, id: str, session: dict[str, Any], message: str) -> None:
        field = ElicitationStringPropertySchema(type="string", title="Name")
        schema = ElicitationSchema(type="object", properties={"name": field}, required=["name"])
        mode = ElicitationFormSessionMode(mode="form", requested_schema=schema, session_id=id)
        response = await self.client.create_elicitation(message=message, mode=mode)
        if response.action == "cancel":
            raise Cancelled
        if response.action == "accept":
            self.note(response.content)

    # --- what is kept ---

    def note(self, effect: Any) -> None:
        with open(self.folder / "effects", "a") as file:
            file.write(json.dumps(effect) + "\n")

    def file(self, id: str) -> Path:
        return self.sessions / f"{id}.json"

    def session(self, id: str) -> dict[str, Any]:
        return self.known[id]

    def keep(self, id: str, session: dict[str, Any]) -> None:
        self.known[id] = session
        self.file(id).write_text(json.dumps(session))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        agent: Any = Agent(Path(sys.argv[1]))  # It has what clients call here, and nothing else.
        asyncio.run(run_agent(agent, use_unstable_protocol=True))
    if "LINGERS" in os.environ:
        time.sleep(3600)
