"""A graph on LangGraph's own server, and the bridge before it; see README.md here."""
