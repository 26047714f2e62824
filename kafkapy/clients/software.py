"""How this client introduces itself in ApiVersions (KIP-511)."""

NAME = "kafkapy"
VERSION = "0.1.0"
"""As in setup.cfg (a test compares them): reading the installed package's metadata would cost each tool 20 ms."""
