-- The tool whose call a question is about, to list and count questions by it.

ALTER TABLE agui_interrupts ADD COLUMN tool TEXT;
UPDATE agui_interrupts SET tool = json_extract(data, '$.tool_call[1]');
CREATE INDEX agui_interrupts_by_tool ON agui_interrupts (scope, status, tool, raised_at);
