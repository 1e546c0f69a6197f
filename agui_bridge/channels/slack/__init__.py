"""Slack as a channel: messages out, clicks and forms in."""
