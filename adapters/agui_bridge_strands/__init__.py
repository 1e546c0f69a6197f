"""Agents of Strands behind AG-UI, in this process.

Needs the extra `strands`.
"""

from agui_bridge_strands.adapter import StrandsAdapter

__all__ = ["StrandsAdapter"]
