"""The store in Redis: `store.RedisStore`, its connections and keys."""
