"""An agent of Pydantic AI behind the bridge."""
