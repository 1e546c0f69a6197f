"""Faults that are put into the package one at a time, to see that the tests notice each."""
