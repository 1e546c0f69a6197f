"""The store in PostgreSQL: `store.PostgresStore`, its connections and statements."""
