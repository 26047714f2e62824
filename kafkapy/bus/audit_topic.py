"""The topic `_bus_audit`, which is compacted: the last record of each counter stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.clients.client_options import ClientOptions

AUDIT_CONFIGS = {"cleanup.policy": "compact", "segment.ms": "86400000"}
AUDIT_PARTITIONS = 3


def ensure_audit_topic(options: Mapping[str, Any]) -> None:
    """Create the topic unless it exists; blocks. `options`: those of a client; options that only producers have are
    ignored. Raises what an admin client raises."""
    from kafkapy import KafkaAdminClient
    from kafkapy.admin import NewTopic
    from kafkapy.errors import TopicAlreadyExistsError

    known = ClientOptions.__annotations__.keys()
    admin = KafkaAdminClient(**{name: value for name, value in options.items() if name in known})
    try:
        if AUDIT_TOPIC not in admin.list_topics():
            admin.create_topics([NewTopic(AUDIT_TOPIC, AUDIT_PARTITIONS, -1, topic_configs=AUDIT_CONFIGS)])
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()
