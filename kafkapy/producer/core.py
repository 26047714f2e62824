"""The core that the synchronous, the asyncio and the Twisted producer share."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.clients.driver import Driver, wait_for
from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.time import SystemTime
from kafkapy.common.topic_names import reason_invalid
from kafkapy.errors import (
    ClientError,
    IllegalStateError,
    IncompatibleBrokerVersion,
    InvalidTopicError,
    KafkaTimeoutError,
    TopicNotFoundInTimeError,
    as_client_error,
    error_for,
)
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.metrics import ProducerMetrics, figures_of
from kafkapy.producer.record_accumulator import RecordAccumulator
from kafkapy.producer.sender import Sender
from kafkapy.producer.sequences import Sequences
from kafkapy.producer.transactions import Transactions
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.runtime.completion import Completion, spawn

_log = logging.getLogger("kafkapy.producer")


class TopicView(NamedTuple):
    """A topic's partitions, in order; `available`: those with a leader, or all if none has one."""

    partitions: tuple[int, ...]
    available: list[int]


class ProducerCore:
    """Builds and connects the parts of a producer on the driver's thread.

    `topic_view` and `accumulator` are thread-safe; everything else must be called on the driver's thread.
    """

    def __init__(self, driver: Driver, config: ProducerConfig) -> None:
        self.config = config
        self.network = NetworkClient(driver, config)
        self.driver = self.network.driver
        self.metrics = ProducerMetrics(self.network.metrics.stat)
        self.accumulator = RecordAccumulator(
            batch_size=config.batch_size,
            max_batch_bytes=config.max_batch_bytes,
            buffer_memory=config.buffer_memory,
            max_request_size=config.max_request_size,
            monotonic_ms=driver.time.monotonic_ms,
            clock=_clock_of(driver),
        )
        self.sequences = Sequences(bool(config.transactional_id)) if config.enable_idempotence else None
        self.sender = Sender(
            self.driver, self.network, self.accumulator, config.sender_config(), self.sequences, self.metrics
        )
        self.accumulator.wakeup = self.sender.wakeup
        self.sender.need_producer_id = self._need_producer_id
        self.transactions: Transactions | None = None
        if config.transactional_id and self.sequences is not None:
            self.transactions = Transactions(
                self.network,
                self.sequences,
                self.sender,
                self.accumulator,
                config.transactional_id,
                config.transaction_timeout_ms,
                config.max_block_ms,
            )
            self.sender.transaction = self.transactions
        self._asking_for_producer_id = False
        self._views: dict[str, TopicView] = {}
        self._awaited: Counter[str] = Counter()
        """Topic -> the callers that wait for its metadata."""
        self.network.metadata.is_idle = self._is_idle
        self.network.metadata.listeners.append(self._metadata_changed)

    async def start(self, timeout_ms: float | None = None) -> None:
        """Wait for the first metadata, unless `api_version` is set.

        Raises KafkaTimeoutError after `timeout_ms` (None: bootstrap_timeout_ms); it may be called again afterwards.
        """
        self.network.reopen()
        if self.config.pinned_versions is None:
            await self.network.start(timeout_ms)

    # --- refusals

    def transactions_for(self, verb: str) -> Transactions:
        """Return the transactions; `verb` names the operation in the error. Raises IllegalStateError without a
        transactional_id."""
        if self.transactions is None:
            raise IllegalStateError(f"Cannot call {verb} without setting a transactional_id.")
        return self.transactions

    def out_of_memory(self) -> KafkaTimeoutError:
        sentence = f"Failed to allocate memory within the configured max blocking time {self.config.max_block_ms:g} ms."
        return KafkaTimeoutError(sentence)

    # --- topics

    def topic_view(self, topic: str) -> TopicView | None:
        """Return the topic's partitions; None if the topic has no metadata yet."""
        view = self._views.get(topic)
        if view is None:
            views, metadata = self._views, self.network.metadata
            found = metadata.partitions_of(topic)
            if not found:
                return None
            ids = tuple(p.partition for p in found)
            nodes = metadata.cluster.nodes
            view = TopicView(ids, [p.partition for p in found if p.leader_id in nodes] or list(ids))
            views[topic] = view  # this view's metadata, or newer one
        return view

    def _metadata_changed(self, _: ClusterMetadata) -> None:
        self._views = {}

    def _is_idle(self, topic: str) -> bool:
        """Return whether a topic was unused for metadata_max_idle_ms and no caller waits for it (Kafka's
        `ProducerMetadata`)."""
        since = self.driver.time.monotonic_ms() - self.config.metadata_max_idle_ms
        return topic not in self._awaited and not self.accumulator.is_used_since(topic, since)

    async def wait_on_metadata(self, topic: str, timeout_ms: float | None = None) -> TopicView:
        """Return the topic's partitions; wait until the metadata has them.

        Raises KafkaTimeoutError after max_block_ms, TopicAuthorizationFailedError, InvalidTopicError.
        """
        self._awaited[topic] += 1
        try:
            return await self._view_of(topic, self.config.max_block_ms if timeout_ms is None else timeout_ms)
        finally:
            self._awaited[topic] -= 1
            self._awaited = +self._awaited
            self.accumulator.used_ms[topic] = self.driver.time.monotonic_ms()

    async def _view_of(self, topic: str, timeout: float) -> TopicView:
        deadline = self.driver.time.monotonic_ms() + timeout
        metadata = self.network.metadata
        while True:
            view = self.topic_view(topic)
            if view is not None:
                return view
            invalid = reason_invalid(topic)
            if invalid is not None:
                raise InvalidTopicError(invalid)
            news = metadata.add_topics((topic,)) or metadata.request_update()
            try:
                await wait_for(self.driver, news, max(0.0, deadline - self.driver.time.monotonic_ms()))
            except KafkaTimeoutError:
                pass
            error = metadata.topic_error(topic)
            if not error.retriable and error is not Errors.NONE:
                metadata.topics.discard(topic)
                raise error_for(error, f"Topic {topic}: {error.message}")
            if self.topic_view(topic) is None and self.driver.time.monotonic_ms() >= deadline:
                failed = f"Failed to update metadata after {timeout / 1000:.1f} secs"
                why = self.network.why_unreachable()
                raise (
                    KafkaTimeoutError(f"{failed}: {why}")
                    if why
                    else TopicNotFoundInTimeError(f"{failed}: no topic {topic}")
                )

    # --- the producer id

    def _need_producer_id(self) -> None:
        if not self._asking_for_producer_id:
            self._asking_for_producer_id = True
            spawn(self._ask_for_producer_id())

    async def _ask_for_producer_id(self) -> None:
        assert self.sequences is not None
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
        attempts = 0
        try:
            while not self.network.closed and self.sender.sequences is not None:
                try:
                    node = await self.network.least_loaded_node()
                    answer = await self.network.send(node, request)
                    if answer.error_code:
                        raise error_for(answer.error_code)
                    self.sequences.got_new_id(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
                    break
                except IncompatibleBrokerVersion as error:
                    self._do_without_sequences(error)
                except KafkaError as error:
                    failure = as_client_error(error)
                    if not failure.retriable:
                        _log.error("No producer id: %s", failure)
                        self.sender.abort(failure)
                        break
                    attempts += 1
                    most = self.config.retry_backoff_max_ms
                    await self.driver.sleep(min(self.config.retry_backoff_ms * 2.0 ** min(attempts, 20), most))
        finally:
            self._asking_for_producer_id = False
        self.sender.wakeup()

    def _do_without_sequences(self, error: ClientError) -> None:
        """Send without sequences: the broker is older than 0.11."""
        if self.config.idempotence_was_asked_for:
            self.sender.abort(error)
        _log.warning("Idempotence is disabled: %s", error)
        self.sender.sequences = None

    def figures(self, raw: bool = False) -> dict[str, Any]:
        """Return metrics by group and name; `raw`: only those of `producer-metrics`. Thread-safe."""
        groups = figures_of(self.network, self.accumulator, self.metrics)
        return dict(groups["producer-metrics"]) if raw else groups

    # --- the end

    async def flush(self, timeout_ms: float | None = None) -> None:
        """Wait until all records that were sent by now are acknowledged or have failed.

        Raises KafkaTimeoutError after `timeout_ms`.
        """
        with self.accumulator.lock:
            batches = list(self.accumulator.incomplete)
            self.accumulator.flushes += 1
        try:
            left = len(batches)
            finished: Completion[None] = Completion()

            def one_is_done() -> None:
                nonlocal left
                left -= 1
                if not left:
                    finished.set_result(None)

            for batch in batches:
                batch.when_done(one_is_done)
            self.sender.run()
            if batches:
                await wait_for(self.driver, finished, timeout_ms)
        except KafkaTimeoutError:
            raise KafkaTimeoutError(f"Failed to flush {left} of {len(batches)} batches in {timeout_ms:g} ms") from None
        finally:
            self.accumulator.flushes -= 1

    async def close(self, timeout_ms: float | None = None) -> None:
        """Flush and disconnect. Records that aren't acknowledged after `timeout_ms` fail."""
        self.accumulator.closed = True
        if self.transactions is not None:
            self.transactions.producer_closes()
        try:
            await self.flush(timeout_ms)
        except KafkaTimeoutError as error:
            _log.warning("The producer is closed before all records are sent: %s", error)
        finally:
            self.sender.abort(ClientError("Producer is closed forcefully."))
            self.network.close()


def _clock_of(driver: Driver) -> Callable[[], float]:
    """Return a clock of seconds since the epoch."""
    if isinstance(driver.time, SystemTime):
        return time.time
    milliseconds: Any = driver.time.milliseconds
    return lambda: milliseconds() / 1000
