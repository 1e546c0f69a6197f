"""Which sentences of a stream ask for something, and which only mention it."""
