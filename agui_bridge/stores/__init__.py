"""Stores: one contract (`base`), several backends."""
