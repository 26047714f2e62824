"""The REST interface of a worker: the end points, bodies and errors of Kafka's."""
