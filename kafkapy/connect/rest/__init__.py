"""The REST interface of a worker, with Kafka's endpoints, bodies and errors."""
