"""A team of Agno behind the bridge."""
