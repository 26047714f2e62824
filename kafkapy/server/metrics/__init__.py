"""A broker's metrics for Prometheus, by Kafka's names."""
