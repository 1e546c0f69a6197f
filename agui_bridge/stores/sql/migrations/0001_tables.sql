-- The first tables: threads, their messages, interrupts and receipts.
--
-- What guards and queries need is columns, the rest is JSON text (`data`). Names carry a prefix
-- because a database may be shared with the application that mounts the bridge.

CREATE TABLE agui_threads (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    version BIGINT NOT NULL,
    status TEXT NOT NULL,
    batch TEXT,
    -- Both are null unless the thread is running.
    lease TEXT,
    lease_ends_at DOUBLE PRECISION,
    write_id TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    data TEXT NOT NULL,
    -- A commit never writes these.
    stop_token TEXT,
    stop_force BOOLEAN,
    stop_until DOUBLE PRECISION,
    stop_actor TEXT,
    PRIMARY KEY (scope, agent, thread)
);
CREATE INDEX agui_threads_by_touch ON agui_threads (scope, agent, updated_at);
CREATE INDEX agui_threads_by_age ON agui_threads (updated_at);
CREATE INDEX agui_threads_by_lease ON agui_threads (lease_ends_at) WHERE lease_ends_at IS NOT NULL;
CREATE INDEX agui_threads_by_stop ON agui_threads (stop_token) WHERE stop_token IS NOT NULL;

CREATE TABLE agui_messages (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    position BIGINT NOT NULL,
    superseded BOOLEAN NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, id),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
CREATE INDEX agui_messages_in_order ON agui_messages (scope, agent, thread, superseded, position);

CREATE TABLE agui_interrupts (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    batch TEXT NOT NULL,
    position BIGINT NOT NULL,
    status TEXT NOT NULL,
    expires_at DOUBLE PRECISION,
    -- Store time of the first commit; later ones leave it.
    raised_at DOUBLE PRECISION NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, id),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
CREATE INDEX agui_interrupts_by_batch ON agui_interrupts (scope, agent, thread, batch);
CREATE INDEX agui_interrupts_by_status ON agui_interrupts (scope, status, raised_at);
CREATE INDEX agui_interrupts_by_expiry ON agui_interrupts (status, expires_at);

CREATE TABLE agui_receipts (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    batch TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, batch),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
