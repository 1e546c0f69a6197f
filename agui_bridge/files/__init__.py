"""The YAML files that people write, read strictly: configurations, and agents of their own."""
