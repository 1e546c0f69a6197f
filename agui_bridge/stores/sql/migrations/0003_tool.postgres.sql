-- The tool whose call a question is about, to list and count questions by it.

ALTER TABLE agui_interrupts ADD COLUMN tool TEXT;
-- PostgreSQL reads no JSON in which NUL or half a surrogate pair is escaped: they are taken out.
UPDATE agui_interrupts SET tool = regexp_replace(
    data,
    '(\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u(?:0000|[dD][89a-fA-F]..)',
    '\1',
    'g'
)::json -> 'tool_call' ->> 1;
CREATE INDEX agui_interrupts_by_tool ON agui_interrupts (scope, status, tool, raised_at);
