"""A real browser: pages of CopilotKit, assistant-ui and TanStack AI against a real bridge."""
