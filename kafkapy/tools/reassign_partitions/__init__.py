"""kafka-reassign-partitions."""
