"""What the connectors that capture changes have in common: Debezium's configs, schemas and events."""
