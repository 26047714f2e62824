"""The controller's connections to the brokers, itself included (Kafka's `ControllerChannelManager`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common.broker import Broker
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.wire import SchemaError

log = logging.getLogger("kafkapy.controller")

RETRY_BACKOFF_SECONDS = 0.1
"""Pause before a retry (Kafka's `RequestSendThread`)."""


class BrokerClient(Protocol):
    """The part of `BlockingClient` that a sender uses."""

    @property
    def connected(self) -> bool: ...

    def call(self, request: Any, version: int) -> Any: ...

    def close(self) -> None: ...


class QueueItem(NamedTuple):
    """A queued request; `callback(response, broker_id)` is called on the sender's thread."""

    request: Any
    version: int
    callback: Callable[[Any, int], object]


class RequestSendThread(threading.Thread):
    """Sends one broker its requests, one at a time and in order.

    Invariant: a request is retried until its response arrives or `stop` is called, so a broker gets the controller's
    requests in order and without gaps, but possibly some of them twice.
    """

    def __init__(self, controller_id: int, broker: Broker, client: BrokerClient) -> None:
        super().__init__(name=f"controller-{controller_id}-to-broker-{broker.id}-send-thread", daemon=True)
        self.broker = broker
        self.client = client
        self.queue: SimpleQueue[QueueItem | None] = SimpleQueue()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Drop pending requests. Does not wait for the thread."""
        self._stopped.set()
        self.queue.put(None)
        self.client.close()

    def run(self) -> None:
        while not self._stopped.is_set() and (item := self.queue.get()) is not None:
            self._send_until_answered(item)
        self.client.close()

    def _send_until_answered(self, item: QueueItem) -> None:
        what = type(item.request).__name__
        failures = 0
        while not self._stopped.is_set():
            was_connected = self.client.connected
            try:
                response = self.client.call(item.request, item.version)
            except (KafkaError, SchemaError) as error:
                self.client.close()
                if self._stopped.is_set():
                    return
                if was_connected and not failures:
                    continue  # brokers close idle connections: retry with a new one
                level = logging.DEBUG if failures else logging.WARNING
                log.log(
                    level, "Sending %s to broker %d failed, trying until it is gone: %s", what, self.broker.id, error
                )
                failures += 1
                self._stopped.wait(RETRY_BACKOFF_SECONDS)
                continue
            if failures:
                log.info("Broker %d has answered %s after %d failed attempts", self.broker.id, what, failures)
            if not self._stopped.is_set():
                item.callback(response, self.broker.id)
            return


class ControllerChannelManager:
    """One sender for each live broker. Used by the controller thread only."""

    def __init__(
        self, config: ControllerConfig, new_client: Callable[[Broker, str, int], BrokerClient] | None = None
    ) -> None:
        """`new_client(broker, host, port)` creates the client for a broker (default: a `BlockingClient`)."""
        self._config = config
        self._new_client = new_client or self._blocking_client
        self._senders: dict[int, RequestSendThread] = {}

    def startup(self, brokers: Iterable[Broker]) -> None:
        for broker in brokers:
            self.add_broker(broker)

    def shutdown(self) -> None:
        for broker_id in list(self._senders):
            self.remove_broker(broker_id)

    def add_broker(self, broker: Broker) -> None:
        """Start a sender for a broker, unless it has one."""
        if broker.id in self._senders:
            return
        listener = self._config.control_listener_name
        end_point = broker.end_point(listener)
        if end_point is None:
            log.error("Broker %d has no listener %s: the controller cannot send it anything", broker.id, listener)
            return
        client = self._new_client(broker, end_point.host or "localhost", end_point.port)
        sender = RequestSendThread(self._config.broker_id, broker, client)
        self._senders[broker.id] = sender
        sender.start()

    def remove_broker(self, broker_id: int) -> None:
        """Stop the broker's sender; pending requests are dropped."""
        sender = self._senders.pop(broker_id, None)
        if sender is not None:
            sender.stop()

    def send_request(self, broker_id: int, request: Any, version: int, callback: Callable[[Any, int], object]) -> None:
        """Queue a request. `callback(response, broker_id)` is called on the sender's thread, so it must only enqueue
        an event."""
        sender = self._senders.get(broker_id)
        if sender is None:
            log.warning("Not sending %s to broker %d, since it is offline", type(request).__name__, broker_id)
            return
        sender.queue.put(QueueItem(request, version, callback))

    def _blocking_client(self, broker: Broker, host: str, port: int) -> BrokerClient:
        return BlockingClient(host, port, self._config.client, negotiate=False)
