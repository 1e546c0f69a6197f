"""Agents that need no framework: plain async functions with durable pauses."""
