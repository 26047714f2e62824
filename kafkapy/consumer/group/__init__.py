"""The consumer's group membership: subscriptions, assignments and committed offsets. kafka-python has its consumer in
a module of this name."""

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if not TYPE_CHECKING:
    _, __getattr__ = lazy_names("kafkapy.consumer", {"kafka_consumer": "KafkaConsumer"})
