"""TLS of this broker's connections to other brokers; each connection uses the current key and trust stores."""

from __future__ import annotations

import logging
import ssl
import threading
from typing import Any

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.tls.store_watch import StoreWatch
from kafkapy.server.config.kafka_config import KafkaConfig

log = logging.getLogger("kafkapy.server.BrokerTls")


class BrokerTls(ssl.SSLContext):
    """A client's context that is rebuilt when a listener's configs (KIP-226) or the files of its stores change.

    Invariant: `_seen` are the configs that were tried last; `_watch` has the last valid ones. Thread-safe.
    """

    def __new__(cls, config: KafkaConfig, listener: str) -> BrokerTls:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, config: KafkaConfig, listener: str) -> None:
        """
        Args:
            config: The broker's; its values change while it runs.
            listener: The listener whose `ssl.*` configs are used.

        Raises:
            KafkaConfigurationError: The stores cannot be used.
        """
        self._config = config
        self._listener = listener
        self._lock = threading.Lock()
        self._seen = self._configs()
        try:
            self._watch = StoreWatch(self._seen, server_side=False)
        except (ConfigException, MissingExtra) as error:
            raise KafkaConfigurationError(str(error)) from None

    def current(self) -> ssl.SSLContext:
        """Return the context for a new connection. Checks whether the two stores' files have changed, and rereads them
        if so."""
        with self._lock:
            configs = self._configs()
            try:
                if configs != self._seen:
                    self._seen = configs
                    self._watch.reconfigure(configs)
                else:
                    self._watch.refresh()
            except ConfigException as problem:
                log.error("New stores for connections to brokers are refused, the old ones stay: %s", problem)
            return self._watch.context

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        return self.current().wrap_socket(*args, **kwargs)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self.current().wrap_bio(*args, **kwargs)

    def _configs(self) -> dict[str, Any]:
        names = (name for name in self._config.definition if name.startswith("ssl."))
        return {name: self._config.listener_value(self._listener, name) for name in names}
