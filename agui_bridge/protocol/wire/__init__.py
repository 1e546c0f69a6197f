"""Bytes and events: server-sent events both ways, and the events that the engine makes itself."""
