"""The migrations of the SQL stores (Alembic); `sql.schema` runs them."""
