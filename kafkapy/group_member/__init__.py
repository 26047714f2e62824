"""The client's half of the group protocol (Kafka's `AbstractCoordinator`), for consumers, schema registries and HTTP
proxies."""
