"""Workflow tools: a server that behaves as n8n's documented webhooks and waits do."""
