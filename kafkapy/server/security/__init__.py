"""What guards the broker: TLS of its listeners, and who may do what."""
