"""The connectors that come with Connect."""
