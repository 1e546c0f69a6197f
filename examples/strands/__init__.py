"""An agent of Strands behind the bridge."""
