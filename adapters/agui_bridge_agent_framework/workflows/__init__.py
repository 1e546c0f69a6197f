"""Workflows of the Agent Framework: what they ask for, and where they are kept meanwhile."""
