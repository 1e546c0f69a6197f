"""What the chunks of an agent's stream become, each kind of them by itself."""
