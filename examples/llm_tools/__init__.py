"""A model that uses tools, some of them after an approval; see README.md here."""

from examples.llm_tools.agent import bridge

__all__ = ["bridge"]
