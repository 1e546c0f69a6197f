"""The HTTP surfaces: pure ASGI, one file per surface."""
