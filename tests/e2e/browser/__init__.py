"""A real browser: CopilotKit's page from `examples/copilotkit` against a real bridge."""
