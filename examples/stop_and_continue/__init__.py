"""An agent that works in many steps is stopped, and goes on with a new instruction."""
