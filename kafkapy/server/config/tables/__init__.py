"""The broker's configs, one module per subject; `KafkaConfig` combines them."""
