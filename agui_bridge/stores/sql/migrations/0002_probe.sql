-- A row that is written to learn whether the database takes writes. It belongs to no thread.

CREATE TABLE agui_probe (
    id INTEGER NOT NULL PRIMARY KEY,
    written_at DOUBLE PRECISION NOT NULL
);
