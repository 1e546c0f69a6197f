"""Serves the Mastra example: `python -m examples.mastra`."""

from examples.guide import Answer, Say, serve_with_guide
from examples.mastra.agents import bridge

if __name__ == "__main__":
    serve_with_guide(
        bridge,
        "network",
        Say("A tool that needs approval: the run ends with an interrupt.", "delete 42"),
        Answer("Approve it: the tool runs, once.", {"approved": True}),
        Say("A tool that suspends itself.", "Delete the old records"),
        Answer("Give it what it asked for.", {"confirmed": True}),
    )
