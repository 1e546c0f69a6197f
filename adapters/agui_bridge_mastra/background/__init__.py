"""Background tasks beside the streams."""
