"""The sockets of a server that serves a bridge by itself: their beginning and their end."""
