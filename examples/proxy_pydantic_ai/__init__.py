"""pydantic-ai's own AG-UI endpoint, and the bridge before it; see README.md here."""
