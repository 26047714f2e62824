"""The worker: it runs connectors and tasks."""
