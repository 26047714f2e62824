"""kafkapy-streams."""
