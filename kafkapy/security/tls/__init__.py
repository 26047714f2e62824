"""TLS: Kafka's `ssl.*` configs, stores of keys and certificates, contexts, sessions without sockets, principals."""
