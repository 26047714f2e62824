"""TLS: Kafka's `ssl.*` configs, key and trust stores, contexts, sessions without sockets, principals."""
