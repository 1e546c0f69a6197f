"""Whether a stream of events is AG-UI's, judged in one place for who reads, relays or tests it."""
