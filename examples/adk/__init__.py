"""An agent of Google ADK behind the bridge."""
