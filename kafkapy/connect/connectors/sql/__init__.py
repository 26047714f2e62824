"""Rows of SQL databases to topics, and records of topics to rows."""
