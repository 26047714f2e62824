"""kafka-configs."""
