"""The three internal topics of a Connect cluster: configs, offsets, statuses. Records have Kafka's format."""
