"""Stores configs in a topic with one partition (Kafka's `KafkaConfigBackingStore`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import ConnectException, IllegalStateException
from kafkapy.connect.storage import (
    ClusterConfigState,
    ConfigTransformer,
    ConfigUpdateListener,
    ConnectorTaskId,
    RestartRequest,
    SessionKey,
    TargetState,
)
from kafkapy.connect.topics import config_records as records
from kafkapy.connect.topics.config_view import ConfigView
from kafkapy.connect.topics.topic_log import KafkaBasedLog, LogRecord
from kafkapy.protocol.errors import KafkaError

log = logging.getLogger("kafkapy.connect.topics")

READ_WRITE_TIMEOUT_S = 30.0

MakeLog = Callable[[Callable[[LogRecord], None]], KafkaBasedLog]
"""Creates the log of a store; it passes records to the function."""


class PrivilegedWriteException(ConnectException):
    """This worker may no longer write configs, because another has become leader (KIP-618)."""

    java_class = "org.apache.kafka.connect.storage.PrivilegedWriteException"


class KafkaConfigStore:
    """Invariant: `_view` is changed by the log's thread only, under `_lock`; the listener is called after the lock is
    released. With exactly-once support, `_fenced_producer` is set while this worker may write as leader.
    """

    def __init__(
        self,
        topic: str,
        make_log: MakeLog,
        transformer: ConfigTransformer | None = None,
        make_fenced_producer: Callable[[], Any] | None = None,
    ) -> None:
        """
        Args:
            topic: The worker's `config.storage.topic`.
            make_log: Creates the log. transformer: Replaces variables of config providers. make_fenced_producer:
                Creates the leader's transactional producer. Default: leaders are not fenced.
        """
        self._topic = topic
        self._log = make_log(self._read)
        self._view = ConfigView(transformer)
        self._lock = threading.Lock()
        self._started = False
        self._listener: ConfigUpdateListener | None = None
        self._make_fenced_producer = make_fenced_producer
        self._fenced_producer: Any = None

    def set_update_listener(self, listener: ConfigUpdateListener) -> None:
        self._listener = listener

    def start(self) -> None:
        """Raises ConnectException, ConfigException, KafkaError."""
        self._log.start()
        if self._log.partition_count > 1:
            raise ConfigException(
                f"Topic '{self._topic}' supplied via the 'config.storage.topic' property is required to have a single "
                "partition in order to guarantee consistency of connector configurations, but found "
                f"{self._log.partition_count} partitions."
            )
        self._started = True

    def stop(self) -> None:
        self._relinquish()
        self._log.stop()

    def _read(self, record: LogRecord) -> None:
        key = None if record.key is None else record.key.decode("utf-8", "replace")
        with self._lock:
            update = self._view.apply(key, record.value, record.offset)
        if update is not None and self._started and self._listener is not None:
            update(self._listener)

    # -- reading

    def snapshot(self) -> ClusterConfigState:
        with self._lock:
            return self._view.snapshot()

    def contains(self, connector: str) -> bool:
        with self._lock:
            return self._view.contains(connector)

    def refresh(self, timeout_ms: float) -> None:
        """Raises TimeoutError, ConnectException."""
        try:
            self._log.read_to_end().result(timeout_ms / 1000)
        except FutureTimeoutError:
            raise TimeoutError(f"The end of topic {self._topic} was not reached in {timeout_ms:.0f} ms") from None
        except KafkaError as error:
            raise ConnectException("Error trying to read to end of config log") from error

    # -- writing as leader

    def put_connector_config(
        self, connector: str, config: Mapping[str, str | None], target_state: TargetState | None = None
    ) -> None:
        written = [(records.CONNECTOR + connector, records.connector_config_value(config))]
        if target_state is not None:
            written.insert(0, (records.TARGET_STATE + connector, records.target_state_value(target_state)))
        self._write(written, "Error writing connector configuration to Kafka")

    def remove_connector_config(self, connector: str) -> None:
        self._write(
            [(records.CONNECTOR + connector, None), (records.TARGET_STATE + connector, None)],
            "Error removing connector configuration from Kafka",
        )

    def put_task_configs(self, connector: str, configs: Sequence[Mapping[str, str | None]]) -> None:
        """Write the tasks' configs, then the commit record that makes them effective together."""
        deadline = time.monotonic() + READ_WRITE_TIMEOUT_S
        self._wait(self._log.read_to_end(), deadline, "Error writing root configuration to Kafka")
        written = [
            (records.TASK + str(ConnectorTaskId(connector, number)), records.connector_config_value(config))
            for number, config in enumerate(configs)
        ]
        if written:
            self._write(written, "Error writing task configurations to Kafka", deadline)
        commit = (records.COMMIT + connector, records.commit_value(len(configs)))
        self._write([commit], "Error writing root configuration to Kafka", deadline)

    def remove_task_configs(self, connector: str) -> None:
        raise NotImplementedError("Removal of tasks is not currently supported")

    def put_task_count_record(self, connector: str, task_count: int) -> None:
        key = records.TASKS_FENCING + connector
        self._write([(key, records.task_count_value(task_count))], "Error writing task count record to Kafka")

    def put_session_key(self, session_key: SessionKey) -> None:
        value = records.session_key_value(session_key)
        self._write([(records.SESSION_KEY, value)], "Error writing session key to Kafka")

    def put_restart_request(self, request: RestartRequest) -> None:
        key = records.RESTART + request.connector
        self._write([(key, records.restart_value(request))], f"Error writing {request} to Kafka")

    def claim_write_privileges(self) -> None:
        """Raises ConnectException."""
        if self._make_fenced_producer is None or self._fenced_producer is not None:
            return
        try:
            self._fenced_producer = self._make_fenced_producer()
            self._fenced_producer.init_transactions()
        except KafkaError as error:
            self._relinquish()
            raise ConnectException("Failed to create and initialize fencable producer for config topic") from error

    # -- writing as any worker

    def put_target_state(self, connector: str, state: TargetState) -> None:
        sent = self._log.send((records.TARGET_STATE + connector).encode(), records.target_state_value(state))
        self._wait(sent, time.monotonic() + READ_WRITE_TIMEOUT_S, "Error writing target state to Kafka")

    def put_logger_level(self, namespace: str, level: str) -> None:
        sent = self._log.send((records.LOGGER_CLUSTER + namespace).encode(), records.logger_level_value(level))
        self._wait(sent, time.monotonic() + READ_WRITE_TIMEOUT_S, "Error writing logger level to Kafka")

    # -- how

    def _write(
        self, written: Sequence[tuple[str, bytes | None]], error_text: str, deadline: float | None = None
    ) -> None:
        deadline = deadline or time.monotonic() + READ_WRITE_TIMEOUT_S
        if self._make_fenced_producer is None:
            for sent in [self._log.send(key.encode(), value) for key, value in written]:
                self._wait(sent, deadline, error_text)
        else:
            self._write_fenced(written)
        self._wait(self._log.read_to_end(), deadline, error_text)

    def _write_fenced(self, written: Sequence[tuple[str, bytes | None]]) -> None:
        producer = self._fenced_producer
        if producer is None:
            raise IllegalStateException("Cannot produce to config topic without claiming write privileges first")
        try:
            producer.begin_transaction()
            for key, value in written:
                producer.send(self._topic, key=key.encode(), value=value)
            producer.commit_transaction()
        except KafkaError as error:
            log.warning("Failed to perform fencable send to config topic: %s", error)
            self._relinquish()
            raise PrivilegedWriteException("Failed to perform fencable send to config topic") from error

    def _relinquish(self) -> None:
        producer, self._fenced_producer = self._fenced_producer, None
        if producer is not None:
            try:
                producer.close(timeout=0)
            except Exception as error:
                log.debug("Closing the leader's producer failed: %s", error)

    @staticmethod
    def _wait(future: Future[None], deadline: float, error_text: str) -> None:
        try:
            future.result(max(0.0, deadline - time.monotonic()))
        except (FutureTimeoutError, KafkaError) as error:
            raise ConnectException(error_text) from error
