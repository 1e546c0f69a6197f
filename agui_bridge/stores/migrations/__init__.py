"""The migrations of the SQL stores (Alembic); `sql_schema` runs them."""
