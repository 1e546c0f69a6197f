-- What a run is saying now, as far as it has come, for those who look on from another process.
--
-- One row of a thread at most, which counts only as long as the thread runs under its lease. So a
-- server of before, which does not know the table, leaves nothing wrong behind.
CREATE TABLE agui_words (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    lease TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread),
    FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads (scope, agent, thread)
        ON DELETE CASCADE
);
