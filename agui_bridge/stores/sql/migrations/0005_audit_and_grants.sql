-- The audit chain. Its rows stay when their thread is deleted, so they have no foreign key.

CREATE TABLE agui_audit (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    written_at DOUBLE PRECISION NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, id)
);

-- Remembered decisions. What a use is judged by is columns, the rest is JSON text (`data`).

CREATE TABLE agui_grants (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    max_uses BIGINT,
    uses BIGINT NOT NULL,
    revoked_at DOUBLE PRECISION,
    revoked_by TEXT,
    PRIMARY KEY (scope, id)
);
CREATE INDEX agui_grants_by_tool ON agui_grants (scope, agent, tool);
