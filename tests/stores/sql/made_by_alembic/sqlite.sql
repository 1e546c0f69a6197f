-- A store of revision 0001 that Alembic made, before migrations were files of SQL.

CREATE TABLE agui_interrupts (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    batch TEXT NOT NULL,
    position BIGINT NOT NULL,
    status TEXT NOT NULL,
    expires_at DOUBLE,
    raised_at DOUBLE NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, id),
    FOREIGN KEY(scope, agent, thread) REFERENCES agui_threads (scope, agent, thread) ON DELETE CASCADE
);
INSERT INTO agui_interrupts VALUES('scope','agent','thread','i1','batch',0,'open',NULL,1795326858.75,'{"id":"i1","batch":"batch","position":0,"native_id":"native-i1","reason":"input","status":"open","message":null,"tool_call":null,"response_schema":null,"allowed":[],"expires_at":null,"subagent_run_id":null,"metadata":null,"answer":null,"audit":[]}');
CREATE TABLE agui_messages (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    id TEXT NOT NULL,
    position BIGINT NOT NULL,
    superseded BOOLEAN NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, id),
    FOREIGN KEY(scope, agent, thread) REFERENCES agui_threads (scope, agent, thread) ON DELETE CASCADE
);
INSERT INTO agui_messages VALUES('scope','agent','thread','m1',1,0,'{"id":"m1","role":"user","content":"hello"}');
INSERT INTO agui_messages VALUES('scope','agent','thread','m2',2,0,'{"id":"m2","role":"user","content":"hello"}');
CREATE TABLE agui_receipts (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    batch TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (scope, agent, thread, batch),
    FOREIGN KEY(scope, agent, thread) REFERENCES agui_threads (scope, agent, thread) ON DELETE CASCADE
);
INSERT INTO agui_receipts VALUES('scope','agent','thread','batch','{"batch":"batch","outcome":"finished","answers":{},"code":null,"lease":null,"at":7.0}');
CREATE TABLE agui_schema (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT agui_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO agui_schema VALUES('0001');
CREATE TABLE agui_threads (
    scope TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    version BIGINT NOT NULL,
    status TEXT NOT NULL,
    batch TEXT,
    lease TEXT,
    lease_ends_at DOUBLE,
    write_id TEXT NOT NULL,
    created_at DOUBLE NOT NULL,
    updated_at DOUBLE NOT NULL,
    data TEXT NOT NULL,
    stop_token TEXT,
    stop_force BOOLEAN,
    stop_until DOUBLE,
    stop_actor TEXT,
    PRIMARY KEY (scope, agent, thread)
);
INSERT INTO agui_threads VALUES('scope','agent','thread',1000,'idle',NULL,NULL,NULL,'w1',1795326858.75,1795326858.75,'{"batch":null,"run":null,"state":null,"closed":[],"pending_calls":[],"handoff":null,"ended":null,"unheard":[]}',NULL,NULL,NULL,NULL);
CREATE INDEX agui_threads_by_touch ON agui_threads (scope, agent, updated_at);
CREATE INDEX agui_threads_by_age ON agui_threads (updated_at);
CREATE INDEX agui_threads_by_lease ON agui_threads (lease_ends_at) WHERE lease_ends_at IS NOT NULL;
CREATE INDEX agui_threads_by_stop ON agui_threads (stop_token) WHERE stop_token IS NOT NULL;
CREATE INDEX agui_messages_in_order ON agui_messages (scope, agent, thread, superseded, position);
CREATE INDEX agui_interrupts_by_batch ON agui_interrupts (scope, agent, thread, batch);
CREATE INDEX agui_interrupts_by_status ON agui_interrupts (scope, status, raised_at);
CREATE INDEX agui_interrupts_by_expiry ON agui_interrupts (status, expires_at);
