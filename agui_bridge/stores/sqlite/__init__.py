"""The store in a SQLite file: `store.SqliteStore`, its statements, and the one who writes."""
