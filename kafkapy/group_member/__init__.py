"""The client's half of the group protocol (Kafka's `AbstractCoordinator`): whoever shares work with others joins with it."""
