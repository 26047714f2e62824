"""Finds the classes that MirrorMaker's configs name: Kafka's names, and import paths `package.module:Class`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from kafkapy.connect import java_classes

KAFKA: Final = "org.apache.kafka.connect.mirror."
_PLACES: Final = {
    f"{KAFKA}DefaultReplicationPolicy": "kafkapy.mirror.replication_policy:DefaultReplicationPolicy",
    f"{KAFKA}IdentityReplicationPolicy": "kafkapy.mirror.replication_policy:IdentityReplicationPolicy",
    f"{KAFKA}DefaultTopicFilter": "kafkapy.mirror.filters:DefaultTopicFilter",
    f"{KAFKA}DefaultGroupFilter": "kafkapy.mirror.filters:DefaultGroupFilter",
    f"{KAFKA}DefaultConfigPropertyFilter": "kafkapy.mirror.filters:DefaultConfigPropertyFilter",
    "org.apache.kafka.clients.admin.ForwardingAdmin": "kafkapy.mirror.forwarding_admin:ForwardingAdmin",
}


def find_class(name: str) -> Any:
    """Return the class of a name.

    Args:
        name: One of Kafka's, or an import path `package.module:Class`.

    Raises:
        LookupError: There is none, or its module cannot be imported.

    Example:
        >>> find_class("org.apache.kafka.connect.mirror.DefaultTopicFilter").__name__
        'DefaultTopicFilter'
    """
    place = _PLACES.get(name, name)
    if ":" not in place:
        return java_classes.class_of(name)
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(f"{name} cannot be imported: {error}") from error


class MirrorClasses:
    """The interface of definitions of connectors' configs to find classes."""

    def find_class(self, name: str) -> Any:
        """Return the class of a name. Raises LookupError."""
        return find_class(name)

    def classes(self, kind: str) -> list[type]:
        """Return an empty result: no values are recommended."""
        return []
