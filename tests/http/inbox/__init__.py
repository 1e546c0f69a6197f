"""The inbox page over HTTP."""
