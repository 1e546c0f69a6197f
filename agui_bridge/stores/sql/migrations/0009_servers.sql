-- The servers that work on this store, each with its version, so that an older one is noticed.

CREATE TABLE agui_servers (
    id TEXT NOT NULL PRIMARY KEY,
    version TEXT NOT NULL,
    format BIGINT NOT NULL,
    channels TEXT NOT NULL,
    since DOUBLE PRECISION NOT NULL,
    seen_at DOUBLE PRECISION NOT NULL
);

-- Who closed a notice whose channel was removed; null of all others.
ALTER TABLE agui_deliveries ADD COLUMN closed_by TEXT;
