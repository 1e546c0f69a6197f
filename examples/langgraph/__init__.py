"""An agent of LangChain behind the bridge."""
