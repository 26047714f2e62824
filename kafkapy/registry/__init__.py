"""A schema registry: Confluent's REST interface over a compacted topic."""
