"""Two teams over A2A: what an agent of one asks, people answer at the other."""
