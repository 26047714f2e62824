"""The broker's configs, one module for each subject; `KafkaConfig` joins them."""
