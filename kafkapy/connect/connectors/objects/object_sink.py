"""Writes records to files in an object store."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.objects.locations import (
    ANY,
    AZURE,
    GCS,
    HDFS,
    OPTIONS_PREFIX,
    S3,
    LocationConfigs,
    store_options,
)
from kafkapy.connect.connectors.objects.partition_writer import PartitionWriter, WriterSettings
from kafkapy.connect.connectors.objects.partitioners import DEFAULT, FIELD, partitioner_name
from kafkapy.connect.connectors.objects.sink_config import sink_config_def, writer_settings
from kafkapy.connect.connectors.objects.spool_folder import SpoolFolder
from kafkapy.connect.connectors.objects.stores import ObjectStore, require_packages
from kafkapy.connect.connectors.uniform_sink import UniformSinkConnector
from kafkapy.connect.errors import DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask
from kafkapy.structs import OffsetAndMetadata

log = logging.getLogger("kafkapy.connect.connectors.objects")


class ObjectSinkTask(SinkTask):
    """Writes the files of its partitions.

    Invariant: `_writers` has a writer for each partition that has had records since it was assigned. `_failed` is whether
    the last `put` has raised a RetriableException, so that records may come again.
    """

    java_class: ClassVar[str] = "kafkapy.connect.ObjectSinkTask"
    locations: ClassVar[LocationConfigs] = ANY

    def __init__(self) -> None:
        self._writers: dict[TopicPartition, PartitionWriter] = {}
        self._failed = False
        self._folder: SpoolFolder | None = None
        self._now_ms: Callable[[], float] = lambda: time.time() * 1000

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = _definitions(self.locations).parse(config)
        self._folder = SpoolFolder(known["spool.dir"])
        self._settings: WriterSettings = replace(writer_settings(known), spool_folder=self._folder.path)
        self._backoff_ms: int = known["retry.backoff.ms"]
        url, options = self.locations.location(known)
        self._store = ObjectStore(url, {**options, **store_options(config)}, known["s3.part.size"])

    def put(self, records: Sequence[SinkRecord]) -> None:
        try:
            for record in records:
                self._write(record)
            for writer in self._writers.values():
                writer.tick()
        except RetriableException:
            self._failed = True
            self.context.timeout(self._backoff_ms)
            raise
        self._failed = False
        ticks = [tick for tick in (each.next_tick_ms() for each in self._writers.values()) if tick is not None]
        if ticks:
            self.context.timeout(max(100.0, min(ticks)))

    def _write(self, record: SinkRecord) -> None:
        partition = TopicPartition(record.original_topic or "", record.original_kafka_partition or 0)
        writer = self._writers.get(partition)
        if writer is None:
            writer = PartitionWriter(partition, self._settings, self._store, lambda: self._now_ms())
            self._writers[partition] = writer
        try:
            writer.write(record, self._failed)
        except DataException as error:
            reporter = self.context.errant_record_reporter()
            if reporter is None:
                raise
            reporter.report(record, error)

    def pre_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets up to which all is uploaded."""
        allowed = {}
        for partition, at in offsets.items():
            writer = self._writers.get(partition)
            offset = at.offset if writer is None else writer.committable(at.offset)
            if offset is not None:
                allowed[partition] = OffsetAndMetadata(min(offset, at.offset))
        return allowed

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            if writer := self._writers.pop(partition, None):
                writer.discard()

    def stop(self) -> None:
        self.close(list(self._writers))
        if self._folder is not None:
            self._folder.close()


class ObjectSinkConnector(UniformSinkConnector):
    """Writes records to files below a URL of fsspec (`store.url`); the configs are in docs/connect_objects.md.

    Example:
        >>> connector = ObjectSinkConnector()
        >>> connector.start({"name": "a", "store.url": "file:///data", "flush.size": "1000", "format.class": "Json"})
        >>> len(connector.task_configs(3))
        3
    """

    java_class: ClassVar[str] = "kafkapy.connect.ObjectSinkConnector"
    prefixes = (OPTIONS_PREFIX,)
    task: ClassVar[type[ObjectSinkTask]] = ObjectSinkTask

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        writer_settings(known)
        require_packages(self.task.locations.location(known)[0])

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        known = self.config().parse(config)
        if writer_settings(known).is_wallclock and partitioner_name(known["partitioner.class"]) not in (DEFAULT, FIELD):
            log.warning("Folders by the time of day may get records twice after a failure; set timestamp.extractor")

    def config(self) -> ConfigDef:
        return _definitions(self.task.locations)


def _definitions(locations: LocationConfigs) -> ConfigDef:
    definitions = sink_config_def()
    locations.define(definitions)
    return definitions


class S3SinkTask(ObjectSinkTask):
    """Writes to Amazon S3, or a service with the same interface."""

    java_class = "io.confluent.connect.s3.S3SinkTask"
    locations = S3


class S3SinkConnector(ObjectSinkConnector):
    """Writes to Amazon S3, or a service with the same interface.

    Example:
        >>> S3SinkConnector().config()["s3.part.size"].default
        26214400
    """

    java_class = "io.confluent.connect.s3.S3SinkConnector"
    task = S3SinkTask


class GcsSinkTask(ObjectSinkTask):
    """Writes to Google Cloud Storage."""

    java_class = "io.confluent.connect.gcs.GcsSinkTask"
    locations = GCS


class GcsSinkConnector(ObjectSinkConnector):
    """Writes to Google Cloud Storage; needs the package gcsfs."""

    java_class = "io.confluent.connect.gcs.GcsSinkConnector"
    task = GcsSinkTask


class AzureBlobStorageSinkTask(ObjectSinkTask):
    """Writes to Azure Blob Storage."""

    java_class = "io.confluent.connect.azure.blob.AzureBlobStorageSinkTask"
    locations = AZURE


class AzureBlobStorageSinkConnector(ObjectSinkConnector):
    """Writes to Azure Blob Storage; needs the package adlfs."""

    java_class = "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector"
    task = AzureBlobStorageSinkTask


class Hdfs3SinkTask(ObjectSinkTask):
    """Writes to HDFS."""

    java_class = "io.confluent.connect.hdfs3.Hdfs3SinkTask"
    locations = HDFS


class Hdfs3SinkConnector(ObjectSinkConnector):
    """Writes to HDFS; needs the libhdfs of a Hadoop installation."""

    java_class = "io.confluent.connect.hdfs3.Hdfs3SinkConnector"
    task = Hdfs3SinkTask
