"""kafka-transactions."""
