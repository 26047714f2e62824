"""The configs of a worker: the interface that the worker uses, and those of a standalone one (Kafka's
`StandaloneConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kafkapy.common.config_def import Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import NO_DEFAULT, ConfigDef
from kafkapy.connect.herder.distributed_config import worker_config_def
from kafkapy.connect.herder.settings import HerderSettings


class WorkerConfig(Protocol):
    """The interface of `DistributedConfig` and `StandaloneConfig` for a worker.

    `originals`: the unparsed properties; `config[name]`: a parsed value, or its default. `offsets_topic`: the topic of
    the worker's offsets, None if it has none; `group_id`: id of the workers' group, None without one.
    """

    @property
    def originals(self) -> Mapping[str, str]: ...
    @property
    def exactly_once_source(self) -> bool: ...
    @property
    def offsets_topic(self) -> str | None: ...
    @property
    def group_id(self) -> str | None: ...
    def __getitem__(self, name: str) -> Any: ...


def standalone_config_def() -> ConfigDef:
    """Return the definition of a standalone worker's configs."""
    return worker_config_def().define(
        "offset.storage.file.filename",
        ConfigType.STRING,
        NO_DEFAULT,
        importance=Importance.HIGH,
        doc="File to store source offsets in.",
    )


class StandaloneConfig:
    """The validated configs of a standalone worker.

    Example:
        >>> config = StandaloneConfig.of({
        ...     "key.converter": "K", "value.converter": "V", "offset.storage.file.filename": "offsets"})
        >>> config["offset.flush.interval.ms"], config.offsets_topic
        (60000, None)
    """

    exactly_once_source = False
    offsets_topic: str | None = None
    group_id: str | None = None

    def __init__(self, originals: Mapping[str, str], values: Mapping[str, Any]) -> None:
        self.originals = dict(originals)
        self.values = values

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> StandaloneConfig:
        """Parse properties. Raises ConfigException."""
        return cls(properties, standalone_config_def().parse(properties))

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def herder(self) -> HerderSettings:
        values = self.values
        return HerderSettings(
            "",
            task_shutdown_graceful_timeout_ms=values["task.shutdown.graceful.timeout.ms"],
            topic_tracking=values["topic.tracking.enable"],
            topic_tracking_allow_reset=values["topic.tracking.allow.reset"],
            topic_creation=values["topic.creation.enable"],
        )
