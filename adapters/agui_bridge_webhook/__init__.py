"""Workflow tools behind agui-bridge: a start URL, callbacks, and resume URLs."""

from agui_bridge_webhook.adapter import WebhookAdapter

__all__ = ["WebhookAdapter"]
