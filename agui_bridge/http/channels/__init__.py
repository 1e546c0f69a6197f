"""Channels over HTTP: what Slack sends, and what became of deliveries."""
