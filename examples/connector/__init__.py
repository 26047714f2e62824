"""A template of a package with a connector (docs/connectors.md)."""
