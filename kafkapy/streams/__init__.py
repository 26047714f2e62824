"""Kafka Streams in Python."""
