"""How this client introduces itself in ApiVersions (KIP-511)."""

NAME = "kafkapy"
VERSION = "0.1.0"
"""As in setup.cfg (a test compares them): reading the installed package's metadata would cost each tool 20 ms."""

KAFKA_VERSION = "3.9.1"
"""The Apache Kafka version that the broker, the clients and the tools follow."""

VERSION_LINE = f"{KAFKA_VERSION} (kafkapy {VERSION})"
"""What every program says to `--version`: Kafka's version comes first, since scripts look for it."""
