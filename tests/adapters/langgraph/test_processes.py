"""The example of LangGraph as real processes on one store."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.mail_processes import MailProcesses


class TestProcesses(MailProcesses):
    example = "examples.langgraph"

    def options(self, folder: Path) -> list[str]:
        return ["--checkpoints", str(folder / "checkpoints.db")]
