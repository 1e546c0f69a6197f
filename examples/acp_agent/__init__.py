"""A coding agent of the Agent Client Protocol, whose question outlives it."""
