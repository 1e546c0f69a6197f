"""Pydantic AI's agents behind AG-UI, in this process.

Needs the extra `pydantic-ai`.
"""

from agui_bridge_pydantic_ai.adapter import PydanticAIAdapter

__all__ = ["PydanticAIAdapter"]
