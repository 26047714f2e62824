"""kafka-console-producer and kafka-console-consumer, with what reads and prints messages."""
