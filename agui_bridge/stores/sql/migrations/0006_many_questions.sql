-- What is done again and again costs the same, however many questions wait.

-- Whether people have been told of a question: 0 of nothing, 1 of it, 2 of its end too.
ALTER TABLE agui_interrupts ADD COLUMN told BIGINT NOT NULL DEFAULT 0;
UPDATE agui_interrupts SET told = (
    SELECT CASE WHEN a.ended THEN 2 ELSE 1 END FROM agui_announced a
    WHERE a.scope = agui_interrupts.scope AND a.agent = agui_interrupts.agent
        AND a.thread = agui_interrupts.thread AND a.interrupt = agui_interrupts.id
) WHERE EXISTS (
    SELECT 1 FROM agui_announced a
    WHERE a.scope = agui_interrupts.scope AND a.agent = agui_interrupts.agent
        AND a.thread = agui_interrupts.thread AND a.interrupt = agui_interrupts.id
);
-- agui_announced stays: replicas of before go on with it until they are replaced. What both plan
-- has the same ids, and is told once.
CREATE INDEX agui_interrupts_untold ON agui_interrupts (raised_at)
    WHERE told = 0 AND status = 'open';
CREATE INDEX agui_interrupts_over ON agui_interrupts (raised_at)
    WHERE told = 1 AND status <> 'open';

-- The list of one thread, whose agent is not named.
CREATE INDEX agui_interrupts_by_thread ON agui_interrupts (scope, thread, raised_at);

-- Old threads that wait stay: who prunes shall not pass over them.
CREATE INDEX agui_threads_idle ON agui_threads (updated_at) WHERE status = 'idle';
DROP INDEX agui_threads_by_age;
