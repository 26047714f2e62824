"""A Kafka cluster for the duration of a test: one or more real brokers, each a process, reached over sockets."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kafkapy.common.capabilities import require_server_support
from kafkapy.testing.access import Access
from kafkapy.testing.broker_process import BROKERS, CLIENTS, BrokerProcess, properties_of
from kafkapy.testing.cluster_security import ClusterSecurity
from kafkapy.testing.contents import Contents
from kafkapy.testing.coordination import Coordination, EmbeddedProcess, WithoutProcess
from kafkapy.testing.faults import Faults
from kafkapy.testing.reserved_port import ReservedPort
from kafkapy.testing.server_process import START_SECONDS, ClusterError
from kafkapy.testing.topics import Topics, WantedTopic, parse_topics
from kafkapy.testing.waiting import wait_until

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.consumer.records import ConsumerRecord

HOST = "127.0.0.1"

_running: weakref.WeakSet[KafkaCluster] = weakref.WeakSet()


def running() -> list[KafkaCluster]:
    """The clusters that this process has started and not stopped yet."""
    return list(_running)


class KafkaCluster(Faults, Access):
    """A cluster: use it as a context manager, or call `start` and `stop`. Thread-safe.

    Invariant: `brokers` are those of `start`, whether they run at the moment or not. No process outlives `stop`, or
    the process that called `start`.

    Args:
        host: Address that brokers listen at. Default "127.0.0.1".
        advertised_host: Host that brokers tell clients. None (default): `host`.

    Example:
        >>> with KafkaCluster(topics="clicks:6") as kafka:
        ...     kafka.produce_many("clicks", [b"home", b"cart"])
        2
    """

    def __init__(
        self,
        brokers: int = 1,
        topics: Topics | None = None,
        config: Mapping[str, object] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        *,
        ports: Sequence[int] = (),
        host: str = HOST,
        advertised_host: str | None = None,
        zookeeper: str | Callable[[Path], Coordination] | None = None,
        secured: bool = False,
        users: Sequence[str] = ("alice", "bob"),
    ) -> None:
        """Prepare a cluster; `start` starts it.

        `topics`: `"clicks:6,users:3:compact"`, a list of such words, or name -> partitions.

        `config`: configs of the brokers, names with dots or underscores; they override the defaults for tests.

        `data_dir`: a directory that is kept, so that a later cluster can reuse its data; None: a temporary one.

        `ports`: the brokers' ports, in order; any free ones by default.

        `zookeeper`: the address of a running ZooKeeper, or a function that creates one; the embedded one by default.

        `secured`: clients log in by SCRAM over TLS, and operations without an ACL are denied to all but the user
        "admin". `users`: further users (`client_options`, `allow`).

        Raises ValueError for arguments that are invalid or don't fit together.
        """
        if brokers < 1:
            raise ValueError(f"a cluster has one broker at least, not {brokers}")
        if ports and len(ports) != brokers:
            raise ValueError(f"{brokers} brokers have as many ports; {len(ports)} are given")
        super().__init__()
        self._count = brokers
        self._topics = parse_topics(topics)
        self._config = {**_for_tests(brokers), **properties_of(config or {})}
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._ports = tuple(ports) or (0,) * brokers
        self._host = host
        self._advertised_host = advertised_host
        self._zookeeper = zookeeper
        self._secured_for = tuple(users) if secured else None
        self._directory: Path | None = None
        self._coordination: Coordination | None = None
        self._admin_client: AdminClient | None = None
        self.brokers: list[BrokerProcess] = []
        self._contents = Contents(self.client_options, lambda: self.admin)
        self._owner = os.getpid()

    # ------------------------------------------------------------------------------------------------ start and stop

    def start(self) -> Self:
        """Start the cluster. Returns when every broker serves requests and the topics exist.

        Raises ClusterError with the end of a log if that fails; UnsupportedSystem on systems without a broker
        (Windows).
        """
        require_server_support("A cluster of kafkapy.testing")
        if self.brokers:
            raise ClusterError("the cluster has been started already")
        self._owner = os.getpid()
        _running.add(self)
        try:
            self._launch()
            for broker in self.brokers:
                broker.wait_until_ready()
            if self._security is not None:
                self._make_users(self._security)
            if self._count > 1:
                self.wait_until_serving()
            if self._topics:
                self.create_topics(self._topics)
        except BaseException:
            self.stop()
            raise
        return self

    def _launch(self) -> None:
        self._directory = directory = self._make_directory()
        remove = directory if self._data_dir is None else None
        self._coordination = coordination = self._make_coordination(directory)
        coordination.start()
        if self._secured_for is not None:
            hosts = [self._host, *([] if self._advertised_host is None else [self._advertised_host])]
            self._security = ClusterSecurity.load_or_make(directory / "security", self._count, hosts, self._secured_for)
        for number, port in enumerate(self._ports):
            broker = BrokerProcess(
                number,
                directory / f"broker-{number}",
                ReservedPort(self._host, port),
                self._config,
                coordination.connect,
                remove,
                self._advertised_host,
                None
                if self._security is None
                else self._security.broker_properties(number, self._count, CLIENTS, BROKERS),
            )
            self.brokers.append(broker)
            broker.launch()
        from kafkapy.admin.client import AdminClient

        self._admin_client = AdminClient(client_id="kafkapy-testing", **self.client_options())

    def _make_users(self, security: ClusterSecurity) -> None:
        """Create the users. The first time over the brokers' listener, which accepts the administrator's
        certificate."""
        from kafkapy.admin.client import AdminClient

        servers = [broker.internal_address for broker in self.brokers]
        with AdminClient(servers, **security.internal_options()) as admin:
            security.create_users(admin)
        self.wait_until_let_in(security.users)

    def _make_directory(self) -> Path:
        if self._data_dir is None:
            return Path(tempfile.mkdtemp(prefix="kafkapy-"))
        self._data_dir.mkdir(parents=True, exist_ok=True)
        return self._data_dir

    def _make_coordination(self, directory: Path) -> Coordination:
        if isinstance(self._zookeeper, str):
            return WithoutProcess(self._zookeeper)
        if self._zookeeper is not None:
            return self._zookeeper(directory / "zookeeper")
        if self._count == 1:
            return WithoutProcess(f"embedded:{directory / 'zookeeper'}")
        return EmbeddedProcess(directory / "zookeeper", directory if self._data_dir is None else None)

    def stop(self) -> None:
        """Stop the cluster: by a controlled shutdown if the data is kept, otherwise by killing the processes.

        Does nothing if the cluster was not started, or in a fork of the process that started it.
        """
        if self._owner != os.getpid():
            return
        _running.discard(self)
        self._contents.close()
        if self._admin_client is not None:
            self._admin_client.close()
            self._admin_client = None
        brokers, self.brokers = self.brokers, []
        for broker in brokers:
            broker.end(in_order=self._data_dir is not None)
        if self._coordination is not None:
            self._coordination.stop()
            self._coordination = None
        if self._data_dir is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._directory = None
        self._security = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = self.bootstrap_servers if self.brokers else "not started"
        return f"<KafkaCluster {state}>"

    def wait_until_serving(self, seconds: float = START_SECONDS) -> None:
        """Wait until the controller knows all running brokers.

        Args:
            seconds: The longest time to wait. Default: `START_SECONDS`.
        """
        running = sum(broker.is_running for broker in self.brokers)

        def is_complete() -> bool:
            described = self.admin.describe_cluster()
            return described.controller is not None and len(described.nodes) >= running

        wait_until(is_complete, seconds, lambda: f"{running} brokers are in the cluster")

    # ------------------------------------------------------------------------------------------------ addresses

    @property
    def bootstrap_servers(self) -> str:
        """`host:port[,host:port]...`"""
        if not self.brokers:
            raise ClusterError("the cluster has not been started")
        return ",".join(broker.address for broker in self.brokers)

    @property
    def zookeeper_connect(self) -> str:
        """`host:port`, for tools."""
        if self._coordination is None:
            raise ClusterError("the cluster has not been started")
        connect = self._coordination.connect
        session = self.brokers[0].session
        return session.servers if session is not None and connect.startswith("embedded") else connect

    @property
    def directory(self) -> Path:
        """The directory with data and logs."""
        if self._directory is None:
            raise ClusterError("the cluster has not been started")
        return self._directory

    @property
    def admin(self) -> AdminClient:
        """An admin client. Not thread-safe."""
        if self._admin_client is None:
            raise ClusterError("the cluster has not been started")
        return self._admin_client

    def log(self) -> str:
        """The output of all brokers."""
        return "".join(f"--- {broker.name}\n{broker.log()}" for broker in self.brokers)

    # ------------------------------------------------------------------------------------------------ topics and contents

    def create_topic(self, name: str, partitions: int | None = None, config: Mapping[str, object] | None = None) -> str:
        """Create a topic and return its name, once every broker knows it and the leaders of its partitions.

        Args:
            name: Name of the topic.
            partitions: Number of partitions. None (default): `num.partitions` of the brokers.
            config: Configs of the topic. None (default): none.
        """
        self.create_topics([WantedTopic(name, partitions, {key: str(value) for key, value in (config or {}).items()})])
        return name

    def create_topics(self, topics: Topics) -> None:
        """Create topics; existing ones are left unchanged. Raises KafkaError if one can't be created.

        Args:
            topics: As in the constructor: `"clicks:6,users:3:compact"`, a list of such words, or partitions by name.
        """
        wanted = {topic.name: topic for topic in parse_topics(topics)}
        self._try_to_create(list(wanted.values()))

        def are_there() -> bool:
            if missing := self._unknown(list(wanted)):
                # It existed and is being deleted; or a broker's metadata is not up to date yet.
                self._try_to_create([wanted[name] for name in missing])
            return not missing and self._have_leaders(list(wanted))

        wait_until(are_there, START_SECONDS, lambda: f"the topics {list(wanted)} have leaders")

    def _try_to_create(self, topics: list[WantedTopic], validate_only: bool = False) -> set[str]:
        """Return the names of existing topics, including those being deleted. Raises KafkaError for any other
        error."""
        from kafkapy.admin.topics import NewTopic
        from kafkapy.protocol.errors import Errors, KafkaError

        new = [NewTopic(topic.name, topic.partitions or -1, topic_configs=topic.config) for topic in topics]
        are_there = set()
        for name, result in self.admin.create_topics(new, validate_only=validate_only).items():
            if isinstance(result, KafkaError):
                if result.error is not Errors.TOPIC_ALREADY_EXISTS:
                    raise result
                are_there.add(name)
        return are_there

    def _unknown(self, names: list[str]) -> list[str]:
        from kafkapy.protocol.errors import Errors, KafkaError

        unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
        described = self.admin.describe_topics(names)
        return [name for name, topic in described.items() if isinstance(topic, KafkaError) and topic.error is unknown]

    def _have_leaders(self, names: list[str]) -> bool:
        from kafkapy.protocol.errors import KafkaError

        return all(
            not isinstance(topic, KafkaError) and all(p.leader_id >= 0 for p in topic.partitions)
            for topic in self.admin.describe_topics(names).values()
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Returns when it is deleted everywhere and can be created again.

        Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION if it did not exist.

        Args:
            name: Name of the topic.
        """
        from kafkapy.admin.results import values_of

        values_of(self.admin.delete_topics([name]))
        anew = [WantedTopic(name, 1, {})]
        wait_until(lambda: not self._try_to_create(anew, validate_only=True), START_SECONDS, lambda: f"{name} is gone")

    def records(self, topic: str, **options: Any) -> list[ConsumerRecord[Any, Any]]:
        """Return the records of a topic.

        Args:
            topic: Name of the topic.
            options: Keyword arguments of `kafkapy.testing.contents.records`.
        """
        return self._contents.records(topic, **options)

    def produce_many(self, topic: str, values: Any, **options: Any) -> int:
        """Write records to a topic; returns how many.

        Args:
            topic: Name of the topic.
            values: Values of the records, in order.
            options: Keyword arguments of `KafkaProducer.send_many`.
        """
        return self._contents.produce_many(topic, values, **options)

    def committed(self, group: str) -> Any:
        """Return the committed offsets of a group.

        Args:
            group: The group's id.
        """
        return self._contents.committed(group)

    def lag(self, group: str) -> Any:
        """Return how far a group is behind.

        Args:
            group: The group's id.
        """
        return self._contents.lag(group)

    def wait_until_committed(self, group: str, topic: str | None = None, timeout: float = 120.0) -> None:
        """Wait until a group has committed the end offsets of its partitions.

        Args:
            group: The group's id.
            topic: Wait for this topic alone. None (default): for all.
            timeout: The longest time to wait, in seconds. Default 120.
        """
        self._contents.wait_until_committed(group, topic, timeout)


def _for_tests(brokers: int) -> dict[str, object]:
    """Configs that differ from Kafka's defaults: internal topics of one partition, no initial rebalance delay, no
    watchdog."""
    replicas = min(3, brokers)
    return {
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(2, replicas),
        "default.replication.factor": replicas,
        "group.initial.rebalance.delay.ms": 0,
        "controlled.shutdown.enable": "true" if brokers > 1 else "false",
        "kafkapy.watchdog.enable": "false",
    }
