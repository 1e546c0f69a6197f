-- A store of revision 0001 that Alembic made, before migrations were files of SQL.

CREATE TABLE agui_interrupts (
    scope text NOT NULL,
    agent text NOT NULL,
    thread text NOT NULL,
    id text NOT NULL,
    batch text NOT NULL,
    "position" bigint NOT NULL,
    status text NOT NULL,
    expires_at double precision,
    raised_at double precision NOT NULL,
    data text NOT NULL
);
CREATE TABLE agui_messages (
    scope text NOT NULL,
    agent text NOT NULL,
    thread text NOT NULL,
    id text NOT NULL,
    "position" bigint NOT NULL,
    superseded boolean NOT NULL,
    data text NOT NULL
);
CREATE TABLE agui_receipts (
    scope text NOT NULL,
    agent text NOT NULL,
    thread text NOT NULL,
    batch text NOT NULL,
    data text NOT NULL
);
CREATE TABLE agui_schema (
    version_num character varying(32) NOT NULL
);
CREATE TABLE agui_threads (
    scope text NOT NULL,
    agent text NOT NULL,
    thread text NOT NULL,
    version bigint NOT NULL,
    status text NOT NULL,
    batch text,
    lease text,
    lease_ends_at double precision,
    write_id text NOT NULL,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    data text NOT NULL,
    stop_token text,
    stop_force boolean,
    stop_until double precision,
    stop_actor text
);
INSERT INTO agui_interrupts VALUES ('scope', 'agent', 'thread', 'i1', 'batch', 0, 'open', NULL, 1795326858.75, '{"id":"i1","batch":"batch","position":0,"native_id":"native-i1","reason":"input","status":"open","message":null,"tool_call":null,"response_schema":null,"allowed":[],"expires_at":null,"subagent_run_id":null,"metadata":null,"answer":null,"audit":[]}');
INSERT INTO agui_messages VALUES ('scope', 'agent', 'thread', 'm1', 1, false, '{"id":"m1","role":"user","content":"hello"}');
INSERT INTO agui_messages VALUES ('scope', 'agent', 'thread', 'm2', 2, false, '{"id":"m2","role":"user","content":"hello"}');
INSERT INTO agui_receipts VALUES ('scope', 'agent', 'thread', 'batch', '{"batch":"batch","outcome":"finished","answers":{},"code":null,"lease":null,"at":7.0}');
INSERT INTO agui_schema VALUES ('0001');
INSERT INTO agui_threads VALUES ('scope', 'agent', 'thread', 1000, 'idle', NULL, NULL, NULL, 'w1', 1795326858.75, 1795326858.75, '{"batch":null,"run":null,"state":null,"closed":[],"pending_calls":[],"handoff":null,"ended":null,"unheard":[]}', NULL, NULL, NULL, NULL);
ALTER TABLE ONLY agui_interrupts
    ADD CONSTRAINT agui_interrupts_pkey PRIMARY KEY (scope, agent, thread, id);
ALTER TABLE ONLY agui_messages
    ADD CONSTRAINT agui_messages_pkey PRIMARY KEY (scope, agent, thread, id);
ALTER TABLE ONLY agui_receipts
    ADD CONSTRAINT agui_receipts_pkey PRIMARY KEY (scope, agent, thread, batch);
ALTER TABLE ONLY agui_schema
    ADD CONSTRAINT agui_schema_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY agui_threads
    ADD CONSTRAINT agui_threads_pkey PRIMARY KEY (scope, agent, thread);
CREATE INDEX agui_interrupts_by_batch ON agui_interrupts USING btree (scope, agent, thread, batch);
CREATE INDEX agui_interrupts_by_expiry ON agui_interrupts USING btree (status, expires_at);
CREATE INDEX agui_interrupts_by_status ON agui_interrupts USING btree (scope, status, raised_at);
CREATE INDEX agui_messages_in_order ON agui_messages USING btree (scope, agent, thread, superseded, "position");
CREATE INDEX agui_threads_by_age ON agui_threads USING btree (updated_at);
CREATE INDEX agui_threads_by_lease ON agui_threads USING btree (lease_ends_at) WHERE (lease_ends_at IS NOT NULL);
CREATE INDEX agui_threads_by_stop ON agui_threads USING btree (stop_token) WHERE (stop_token IS NOT NULL);
CREATE INDEX agui_threads_by_touch ON agui_threads USING btree (scope, agent, updated_at);
ALTER TABLE ONLY agui_interrupts
    ADD CONSTRAINT agui_interrupts_scope_agent_thread_fkey FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads(scope, agent, thread) ON DELETE CASCADE;
ALTER TABLE ONLY agui_messages
    ADD CONSTRAINT agui_messages_scope_agent_thread_fkey FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads(scope, agent, thread) ON DELETE CASCADE;
ALTER TABLE ONLY agui_receipts
    ADD CONSTRAINT agui_receipts_scope_agent_thread_fkey FOREIGN KEY (scope, agent, thread) REFERENCES agui_threads(scope, agent, thread) ON DELETE CASCADE;
