"""kafka-producer-perf-test, kafka-consumer-perf-test and kafka-e2e-latency."""
