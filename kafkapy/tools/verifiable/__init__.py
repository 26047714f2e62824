"""kafka-verifiable-producer and kafka-verifiable-consumer: clients that print events as JSON."""
