"""What the stores in SQLite and PostgreSQL share: tables, rows, and migrations."""
