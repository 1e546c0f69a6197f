"""The budget, claim by claim: the scenarios of `make bench`."""
