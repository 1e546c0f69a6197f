"""Random pages on one thread of the real engine: behind, repeated, edited, cut off, answered."""
