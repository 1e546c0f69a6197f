"""Agents of the OpenAI Agents SDK behind the bridge."""
