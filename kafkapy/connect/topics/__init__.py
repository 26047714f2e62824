"""The three topics of a Connect cluster: configs, offsets, statuses. Their bytes are those of Kafka's own workers."""
