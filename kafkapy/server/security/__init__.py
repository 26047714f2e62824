"""Security as the broker has it: who may do what."""
