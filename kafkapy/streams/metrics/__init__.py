"""What an instance measures, by Kafka's names."""
