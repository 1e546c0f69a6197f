"""All routes in one table, and what stands beside them: probes, OpenAPI, the playground."""
