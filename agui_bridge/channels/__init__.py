"""Channels: where people are told of questions, and how what is told gets there."""

from agui_bridge.channels.channel import Channel, Undelivered
from agui_bridge.channels.notice import Notice
from agui_bridge.channels.slack.slack import Slack, SlackUser
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.teams import Teams
from agui_bridge.channels.webhook import Webhook

__all__ = ["Channel", "Notice", "Slack", "SlackUser", "Smtp", "Teams", "Undelivered", "Webhook"]
