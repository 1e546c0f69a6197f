"""An agent of Microsoft's Agent Framework behind the bridge."""
