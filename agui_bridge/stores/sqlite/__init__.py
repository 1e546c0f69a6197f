"""The store in a SQLite file: `store.SqlStore`, its statements, and the one who writes."""
