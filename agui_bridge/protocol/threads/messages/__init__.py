"""The messages of a thread: as they are stored, and while a run changes some of them."""
