"""The forms of questions: their fields, and what a pressed button decides."""
