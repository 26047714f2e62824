"""The client's software name and version in ApiVersions requests (KIP-511)."""

NAME = "kafkapy"
VERSION = "0.1.0"
"""As in setup.cfg (a test compares them): reading the installed package's metadata would cost each tool 20 ms."""

KAFKA_VERSION = "3.9.1"
"""The Apache Kafka version that the broker, the clients and the tools follow."""

VERSION_LINE = f"{KAFKA_VERSION} (kafkapy {VERSION})"
"""The output of `--version` of every program; Kafka's version is first, because scripts parse it."""
