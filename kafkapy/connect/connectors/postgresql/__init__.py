"""Captures the changes of a PostgreSQL database (Debezium's `PostgresConnector`)."""
