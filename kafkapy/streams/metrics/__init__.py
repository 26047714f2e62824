"""Metrics of an instance, with Kafka's names."""
