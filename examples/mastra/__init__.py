"""A Mastra server behind the bridge; see README.md here."""

from examples.mastra.agents import bridge

__all__ = ["bridge"]
