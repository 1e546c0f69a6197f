-- What is to be told to people about questions.

-- The questions that somebody has planned for.
CREATE TABLE agui_announced (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    interrupt TEXT NOT NULL,
    -- Whether the question's end is planned for too.
    ended BOOLEAN NOT NULL,
    PRIMARY KEY (scope, agent, thread, interrupt),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
CREATE INDEX agui_announced_open ON agui_announced (scope, agent, thread) WHERE NOT ended;

CREATE TABLE agui_deliveries (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    interrupt TEXT NOT NULL,
    channel TEXT NOT NULL,
    event TEXT NOT NULL,
    -- While a delivery is claimed, the end of the claim.
    due_at DOUBLE PRECISION NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    lease TEXT,
    noted TEXT,
    error TEXT,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope, agent, thread, id),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
CREATE INDEX agui_deliveries_due ON agui_deliveries (channel, state, due_at);
CREATE INDEX agui_deliveries_by_state ON agui_deliveries (scope, state, created_at);
