"""Surfaces that agents make for pages with A2UI: the client's offer, and one surface's making."""
