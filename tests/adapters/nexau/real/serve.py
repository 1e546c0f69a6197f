"""Serves an agent with a real NexAU: `python serve.py PORT MODEL_URL`, with NexAU's own Python.

Its model and what its tool does are the test's (`model`), at MODEL_URL. Imports nothing of the
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
    http: Any = importlib.import_module("nexau.archs.transports.http")
    uvicorn: Any = importlib.import_module("uvicorn")

    def work(job: str = "") -> dict[str, str]:
        with urllib.request.urlopen(f"{model}/jobs/{job}") as answer:
            done: dict[str, str] = json.load(answer)
        return done

    properties = {"job": {"type": "string", "description": "which"}}
    agent = nexau.AgentConfig(
        name="agent",
        system_prompt="You are an agent under test.",
        llm_config=llm.LLMConfig(
            model="scripted", base_url=f"{model}/v1", api_key="none", stream=True, max_retries=1
        ),
        tools=[
            tool.Tool(
                name="work",
                description="Does a job.",
                input_schema={"type": "object", "properties": properties, "required": []},
                implementation=work,
            )
        ],
        max_iterations=10,
    )
    with tempfile.TemporaryDirectory() as folder:
        server = http.SSETransportServer(
            engine=orm.SQLDatabaseEngine.from_url(f"sqlite+aiosqlite:///{folder}/sessions.db"),
            config=http.HTTPConfig(host="127.0.0.1", port=port),
            default_agent_config=agent,
        )
        uvicorn.run(server.app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
