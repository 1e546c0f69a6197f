"""The store in Redis: `store.RedisStore`, its connections, keys and scripts."""
