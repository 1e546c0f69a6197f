"""Remembered decisions in the engine: kept with an answer, applied when a pause is stored."""
