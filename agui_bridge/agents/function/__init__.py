"""Agents that are functions: they ask in the middle, and go on after a restart."""
