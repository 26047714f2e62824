"""What a broker tells of itself, by Kafka's names, for Prometheus."""
