"""Kafka Connect in Python: a worker that runs connectors, which copy data into and out of Kafka (see docs/connect.md)."""
