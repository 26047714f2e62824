"""Configs of the clients of connectors and tasks (Kafka's `Worker.baseProducerConfigs` and its kin)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from kafkapy.connect.clients import why_unused
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.infos import SINK, SOURCE
from kafkapy.connect.herder.override_policies import OverridePolicy, OverrideRequest
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.storage import ConnectorTaskId

log = logging.getLogger("kafkapy.connect.runtime")

_NEVER_MS = 2**31 - 1
_CLIENT_PREFIXES = ("admin.", "producer.", "consumer.")
_IDEMPOTENCE = "enable.idempotence"

ConnectorConfigs = Mapping[str, "str | None"]
ClientSettings = dict[str, object]


class ClientConfigs:
    """Merges the configs of clients: Connect's defaults, then the worker's with a prefix, then the connector's
    overrides.

    Invariant: `_warned` has the configs without effect that were logged, so that each is logged once.

    Methods raise ConnectException if the worker's policy does not allow an override.
    """

    def __init__(self, worker: WorkerConfig, policy: OverridePolicy | None) -> None:
        """
        Args:
            worker: The worker's configs.
            policy: Decides about overrides. None: all are allowed.
        """
        self._worker = worker
        self._policy = policy
        self._warned: set[str] = set()

    @property
    def bootstrap_servers(self) -> str:
        """Return the worker's bootstrap servers, separated by commas."""
        servers = self._worker["bootstrap.servers"]
        return servers if isinstance(servers, str) else ",".join(servers)

    def producer(self, connector: str, client_id: str, config: ConnectorConfigs) -> ClientSettings:
        """Return the configs for a source task or dead letters: unlimited retries that keep the order of records."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "max.block.ms": _NEVER_MS,
            _IDEMPOTENCE: "false",
            "acks": "all",
            "max.in.flight.requests.per.connection": 1,
            "delivery.timeout.ms": _NEVER_MS,
            "client.id": client_id,
            **self._with_prefix("producer."),
            **self._overrides(connector, config, "producer", SOURCE),
        }

    def exactly_once_producer(self, id: ConnectorTaskId, config: ConnectorConfigs) -> ClientSettings:
        """Return the configs for a source task with exactly-once support."""
        configs = self.producer(id.connector, f"connector-producer-{id}", config)
        asked = f"producer.override.{_IDEMPOTENCE}" in config or f"producer.{_IDEMPOTENCE}" in self._worker.originals
        if not asked:
            del configs[_IDEMPOTENCE]
        why = "for connectors when exactly-once source support is enabled"
        _ensure(configs, _IDEMPOTENCE, "true", why)
        _ensure(configs, "transactional.id", self.transactional_id(id), why)
        return configs

    def transactional_id(self, id: ConnectorTaskId) -> str:
        """Return the transactional id of a task with exactly-once support."""
        return f"{self._worker.group_id}-{id.connector}-{id.task}"

    def consumer(self, connector: str, client_id: str, config: ConnectorConfigs, type: str = SINK) -> ClientSettings:
        """Return the configs for a sink task, or, with `type` source, for reading offsets."""
        return {
            "group.id": f"connect-{connector}",
            "client.id": client_id,
            "bootstrap.servers": self.bootstrap_servers,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            **self._with_prefix("consumer."),
            **self._overrides(connector, config, "consumer", type),
        }

    def offsets_consumer(
        self, connector: str, client_id: str, config: ConnectorConfigs, exactly_once: bool
    ) -> ClientSettings:
        """Return the configs for reading a source's offsets topic, with committed records only."""
        configs = self.consumer(connector, client_id, config, SOURCE)
        if exactly_once:
            why = "for source connectors' offset consumers when exactly-once source support is enabled"
            _ensure(configs, "isolation.level", "read_committed", why)
        else:
            configs.setdefault("isolation.level", "read_committed")
        return configs

    def admin(self, connector: str, client_id: str, config: ConnectorConfigs, type: str) -> ClientSettings:
        """Return the configs for creating topics and reading groups."""
        own = {name: value for name, value in self._worker.originals.items() if not name.startswith(_CLIENT_PREFIXES)}
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": client_id,
            **own,
            **self._with_prefix("admin."),
            **self._overrides(connector, config, "admin", type),
        }

    def group_id(self, connector: str, config: ConnectorConfigs) -> str:
        """Return the group id of a sink's consumers."""
        return str(self.consumer(connector, "connector-consumer-", config)["group.id"])

    def _with_prefix(self, prefix: str) -> ClientSettings:
        found: ClientSettings = {
            name.removeprefix(prefix): value
            for name, value in self._worker.originals.items()
            if name.startswith(prefix)
        }
        self._warn_of_unused(prefix.removesuffix("."), found, prefix, "the worker")
        return found

    def _warn_of_unused(self, client: str, names: Iterable[str], prefix: str, owner: str) -> None:
        for name in names:
            why, what = why_unused(client, name), f"{prefix}{name} of {owner}"
            if why is not None and what not in self._warned:
                self._warned.add(what)
                log.warning("The config %s has no effect: %s", what, why)

    def _overrides(self, connector: str, config: ConnectorConfigs, client: str, type: str) -> ClientSettings:
        prefix = f"{client}.override."
        given = {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}
        if self._policy is not None:
            request = OverrideRequest(connector, type, client, given)
            refused = [text for name in given if (text := self._policy.refusal(request, name)) is not None]
            if refused:
                raise ConnectException(f"Client Config Overrides not allowed [{', '.join(refused)}]")
        self._warn_of_unused(client, given, prefix, f"connector {connector}")
        return {name: value for name, value in given.items() if value is not None}


def _ensure(configs: ClientSettings, name: str, wanted: str, why: str) -> None:
    given = configs.get(name)
    if given is not None and str(given).lower() != wanted.lower():
        log.warning("The value %s for %s is not used %s: it is %s", given, name, why, wanted)
    configs[name] = wanted
