"""Agents of LlamaIndex behind the bridge."""
