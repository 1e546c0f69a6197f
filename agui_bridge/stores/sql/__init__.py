"""What the stores in SQLite and PostgreSQL share: columns, rows, and migrations."""
