"""kafka-console-producer and kafka-console-consumer, with readers and formatters of messages."""
