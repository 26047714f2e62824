"""An HTTP proxy for Kafka: Confluent's REST Proxy v2 and v3, and `/events/{topic}` for browsers and scripts."""
