"""A real browser: pages of CopilotKit and assistant-ui against a real bridge."""
