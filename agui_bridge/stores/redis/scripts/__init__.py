"""The scripts that run inside Redis, in Lua: what they read, what they write, deliveries."""
