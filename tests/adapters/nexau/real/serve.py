"""Serves an agent and a team with a real NexAU: `python serve.py PORT MODEL_URL`.

Their model and what their tool does are the test's (`model`), at MODEL_URL. Imports nothing of the
project, for NexAU has an environment of its own.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import urllib.request
from typing import Any


def main() -> None:
    """Serve until the process is ended."""
    port, model = int(sys.argv[1]), sys.argv[2]
    nexau: Any = importlib.import_module("nexau")
    llm: Any = importlib.import_module("nexau.archs.llm.llm_config")
    orm: Any = importlib.import_module("nexau.archs.session.orm")
    tool: Any = importlib.import_module("nexau.archs.tool")
    builtin: Any = importlib.import_module("nexau.archs.tool.builtin")
    http: Any = importlib.import_module("nexau.archs.transports.http")
    uvicorn: Any = importlib.import_module("uvicorn")

    def work(job: str = "") -> dict[str, str]:
        with urllib.request.urlopen(f"{model}/jobs/{job}") as answer:
            done: dict[str, str] = json.load(answer)
        return done

    job = {"job": {"type": "string", "description": "which"}}
    questions = {"questions": {"type": "array", "items": {"type": "object"}}}

    def agent(name: str, **more: Any) -> Any:
        return nexau.AgentConfig(
            name=name,
            system_prompt=f"You are the {name} under test.",
            llm_config=llm.LLMConfig(
                model="scripted", base_url=f"{model}/v1", api_key="none", stream=True, max_retries=1
            ),
            tools=[_tool("work", "Does a job.", job, work), *more.pop("tools", ())],
            max_iterations=10,
            **more,
        )

    def _tool(name: str, says: str, properties: Any, implementation: Any) -> Any:
        schema = {"type": "object", "properties": properties, "required": []}
        return tool.Tool(
            name=name, description=says, input_schema=schema, implementation=implementation
        )

    def member(name: str) -> Any:
        asks = _tool("ask_user", "Asks the user.", questions, builtin.ask_user)
        return agent(name, tools=[asks], stop_tools={"ask_user"})

    with tempfile.TemporaryDirectory() as folder:
        server = http.SSETransportServer(
            engine=orm.SQLDatabaseEngine.from_url(f"sqlite+aiosqlite:///{folder}/sessions.db"),
            config=http.HTTPConfig(host="127.0.0.1", port=port),
            default_agent_config=agent("agent"),
        )
        server.team_registry.register_config(
            "default",
            leader_config=member("leader"),
            candidates={name: member(name) for name in ("writer", "tester")},
        )
        uvicorn.run(server.app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
