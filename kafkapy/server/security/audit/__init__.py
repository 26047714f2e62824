"""The audit log: a JSON line for each decision, authentication and change, in files or a topic."""
