"""The `inbox` of a configuration file: how people reach their questions."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.settings import Inbox
from agui_bridge.yaml_files.sections import Section

__all__ = ["InboxSection"]

_WEEK = 7 * 86400.0


class InboxSection(Section):
    """How people reach their questions."""

    url: str | None = Field(
        None,
        min_length=1,
        description="Where people reach the bridge, such as `https://agents.example`; addresses in "
        "messages to them begin with it.",
    )
    key_env: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description="Environment variables with the keys of references and links, 16 bytes or "
        "more each: the first signs, all verify.",
    )
    link_ttl: float = Field(_WEEK, gt=0, description="Seconds for which a link is good.")
    login_url: str | None = Field(
        None, min_length=1, description="Where a page sends those who are not known."
    )

    def settings(self) -> Inbox:
        """The settings, with the keys that the environment has.

        Raises:
            ConfigurationError: a variable is missing, or a value is unfit.
        """
        missing = [name for name in self.key_env if not os.environ.get(name)]
        if missing:
            raise ConfigurationError(f"the environment variable {missing[0]} is missing or empty.")
        return Inbox(
            url=self.url,
            keys=tuple(os.environ[name] for name in self.key_env),
            link_ttl=self.link_ttl,
            login_url=self.login_url,
        )
