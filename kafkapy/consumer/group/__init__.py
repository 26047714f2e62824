"""The consumer in its group: what it shares with other members, and the offsets that the group keeps."""
