"""CopilotKit's runtime routes, spoken by the bridge itself."""
