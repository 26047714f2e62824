"""Debezium's transforms of its change events, by their class names and settings."""
