"""The store in memory."""

from agui_bridge.stores.memory.store import MemoryStore as MemoryStore
