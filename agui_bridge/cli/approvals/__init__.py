"""Commands about questions: who is told of them, who answered what, and what is remembered."""
