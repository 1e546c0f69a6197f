"""LlamaIndex's workflows and agents behind AG-UI, in this process.

Needs the extra `llama-index`.
"""

from agui_bridge_llama_index.adapter import LlamaIndexAdapter

__all__ = ["LlamaIndexAdapter"]
