"""Kafka's operations on ZooKeeper, typed and fenced."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from kafkapy.common import uuid
from kafkapy.common.broker import Broker
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.replica_assignment import ReplicaAssignment, TopicIdReplicaAssignment
from kafkapy.common.time import SystemTime, Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.zk.broker_registration import create_checked_ephemeral
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.errors import BadVersionError, ControllerMovedError, NodeExistsError, NoNodeError, ZooKeeperError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.request_pipeline import MATCH_ANY_VERSION as MATCH_ANY_VERSION
from kafkapy.zk.request_pipeline import RequestPipeline
from kafkapy.zk.requests import Check, Create, Delete, Exists, GetChildren, GetData, Multi, Response, SetData
from kafkapy.zk.session_closer import Session
from kafkapy.zk.zk_data import (
    PERSISTENT_PATHS,
    BrokerIdZNode,
    BrokerInfo,
    BrokerSequenceIdZNode,
    BrokersZNode,
    ClusterIdZNode,
    ConfigEntityChangeNotificationZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ConsumerOffsetZNode,
    ControllerEpochZNode,
    ControllerZNode,
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicPartitionsZNode,
    TopicPartitionZNode,
    TopicZNode,
    sequence_number,
)
from kafkapy.zk.zookeeper_client import SessionStats, ZooKeeperClient

log = logging.getLogger("kafkapy.zk.KafkaZkClient")

UNKNOWN_VERSION = -2


class UpdateLeaderAndIsrResult(NamedTuple):
    """The result of a batch of state updates.

    `finished_partitions`: written (the state with its new partition epoch) or finally failed (the error);
    `partitions_to_retry`: the znode had another version; read the state again and decide anew.
    """

    finished_partitions: dict[TopicPartition, LeaderAndIsr | ZooKeeperError]
    partitions_to_retry: list[TopicPartition]


class TopicToCreate(NamedTuple):
    topic: str
    topic_id: bytes | None
    assignment: Mapping[int, Iterable[int]]
    configs: Mapping[str, str]

    def encode(self) -> bytes:
        """Return the data of the topic's znode."""
        return TopicZNode.encode(self.topic_id, {p: ReplicaAssignment(tuple(r)) for p, r in self.assignment.items()})


class KafkaZkClient:
    """Kafka's ZooKeeper operations by Kafka's names (`kafka.zk.KafkaZkClient`).

    Every method blocks until it is answered. If the connection is lost it waits for the next one and repeats the
    request, so callers must expect that an earlier attempt may have succeeded. Methods may be called from several
    threads, never from the reactor or from a watch handler. Unless documented otherwise, methods raise `ZooKeeperError`
    subclasses, `SessionExpiredError` and `ZooKeeperClientClosedError` among them.

    Fencing: methods with `expected_controller_epoch_zk_version` send each write as a multi with a check of
    /controller_epoch's version and raise `ControllerMovedError` if it has another one. MATCH_ANY_VERSION: no check.
    Methods for many partitions pipeline their requests.
    """

    def __init__(self, client: ZooKeeperClient, time: Time | None = None) -> None:
        """Takes ownership of `client`, started: `close` closes it. `connect` creates both."""
        self._client = client
        self._pipeline = RequestPipeline(client)
        self._time = time or SystemTime()

    @classmethod
    def connect(
        cls,
        connect: str,
        session_timeout_ms: int = 18000,
        connection_timeout_ms: int = 18000,
        max_in_flight_requests: int = 10,
        time: Time | None = None,
        on_session: Callable[[Session | None], None] | None = None,
        security: ZkClientSecurity = PLAINTEXT,
        secure_acls: bool = False,
        create_chroot: bool = True,
    ) -> KafkaZkClient:
        """Connect to `zookeeper.connect` (`host:port[,host:port]...[/chroot]`).

        Args:
            connect: Servers and chroot.
            session_timeout_ms: Time-out of the session, ms; default 18 s.
            connection_timeout_ms: Time limit for connecting, ms; default 18 s.
            max_in_flight_requests: Limit of pipelined requests; default 10.
            time: The clock; None (default): the system's.
            on_session: Called for each new session and the end, see `ZooKeeperClient`.
            security: TLS and SASL, see `ZooKeeperClient`.
            secure_acls: Whether znodes are created with Kafka's access lists, see `ZooKeeperClient`.
            create_chroot: Whether to create a missing chroot; otherwise it must exist.

        Raises:
            ZooKeeperClientTimeoutError: there is no connection in time; the message says where and how long.
            ZooKeeperClientAuthFailedError: the server refuses SASL.
        """
        hosts, slash, chroot = connect.partition("/")
        if chroot and create_chroot:
            root = ZooKeeperClient(hosts, session_timeout_ms, security=security, secure_acls=secure_acls)
            root.start(connection_timeout_ms)
            try:
                RequestPipeline(root).ensure_path(slash + chroot.rstrip("/"))
            finally:
                root.close()
        client = ZooKeeperClient(
            connect.rstrip("/"), session_timeout_ms, max_in_flight_requests, on_session, security, secure_acls
        )
        client.start(connection_timeout_ms)
        return cls(client, time)

    @property
    def session_state(self) -> str:
        """The state CONNECTING, CONNECTED, EXPIRED or CLOSED."""
        return self._client.state

    @property
    def session_stats(self) -> SessionStats:
        return self._client.stats

    def time_limit(self, timeout_ms: int) -> AbstractContextManager[None]:
        """Limit how long this thread waits for a lost connection within the block; then `ZooKeeperClientTimeoutError`
        is raised.
        """
        return self._pipeline.time_limit(timeout_ms)

    # --- handlers -------------------------------------------------------------------------------------------------

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        self._client.register_state_change_handler(handler)

    def unregister_state_change_handler(self, name: str) -> None:
        self._client.unregister_state_change_handler(name)

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Call `handler` for changes of its path, from the next `exists`/`get_data` read of that path on."""
        self._client.register_znode_change_handler(handler)

    def register_znode_change_handler_and_check_existence(self, handler: ZNodeChangeHandler) -> bool:
        """Register and set the watch by reading whether the node exists; return that."""
        self._client.register_znode_change_handler(handler)
        return self.path_exists(handler.path)

    def unregister_znode_change_handler(self, path: str) -> None:
        self._client.unregister_znode_change_handler(path)

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Call `handler` for children of its path, from the next read of the children on."""
        self._client.register_znode_child_change_handler(handler)

    def unregister_znode_child_change_handler(self, path: str) -> None:
        self._client.unregister_znode_child_change_handler(path)

    # --- start-up and brokers -------------------------------------------------------------------------------------

    def create_top_level_paths(self) -> None:
        """Create the missing persistent roots: all at once, in Kafka's order, then those whose parents were missing."""
        lacking = self._create_missing(PERSISTENT_PATHS)
        parents = dict.fromkeys(path.rpartition("/")[0] for path in lacking)
        for path in self._create_missing((*parents, *lacking)):
            raise NoNodeError(path=path)

    def _create_missing(self, paths: Sequence[str]) -> list[str]:
        """Create missing nodes; return those without a parent."""
        lacking = []
        for path, response in zip(
            paths, self._pipeline.answers_to([Create(path, None) for path in paths]), strict=True
        ):
            if isinstance(response.error, NoNodeError):
                lacking.append(path)
            elif not isinstance(response.error, NodeExistsError):
                response.raise_for_error()
        return lacking

    def get_cluster_id(self) -> str | None:
        data, version = self.get_data_and_version(ClusterIdZNode.path)
        return None if version == UNKNOWN_VERSION else ClusterIdZNode.decode(data)

    def get_or_create_cluster_id(self, proposed: str) -> str:
        """Return the cluster's id; set it to `proposed` if there is none."""
        try:
            self._pipeline.create_recursive(ClusterIdZNode.path, ClusterIdZNode.encode(proposed))
        except NodeExistsError:
            pass
        existing = self.get_cluster_id()
        if existing is None:
            raise NoNodeError(path=ClusterIdZNode.path)
        return existing

    def generate_broker_id(self, reserved_broker_max_id: int) -> int:
        """Return an unused broker id above `reserved_broker_max_id` (from a counter in /brokers/seqid)."""
        path = BrokerSequenceIdZNode.path
        response = self._pipeline.answer_to(SetData(path, b""))
        if isinstance(response.error, NoNodeError):
            self._pipeline.create_recursive(path, exist_ok=True)
            response = self._pipeline.answer_to(SetData(path, b""))
        return reserved_broker_max_id + response.raise_for_error().version

    def register_broker(self, broker_info: BrokerInfo) -> int:
        """Create /brokers/ids/<id>; return the broker epoch (its czxid).

        A node of this client's expired session is deleted and created again. If another session owns the node (a killed
        predecessor's), wait for its end; `NodeExistsError` if it does not end.
        """
        data = BrokerIdZNode.encode(broker_info, self._time.milliseconds())
        path = BrokerIdZNode.path(broker_info.broker.id)
        stat = create_checked_ephemeral(self._client, path, data)
        log.info("Registered broker %d at %s with epoch %d", broker_info.broker.id, path, stat.czxid)
        return stat.czxid

    def update_broker_info(self, broker_info: BrokerInfo) -> None:
        """Overwrite /brokers/ids/<id> (changed listeners); the broker epoch stays the same."""
        data = BrokerIdZNode.encode(broker_info, self._time.milliseconds())
        self.set_data(BrokerIdZNode.path(broker_info.broker.id), data)

    def get_broker(self, broker_id: int) -> Broker | None:
        """Return the broker if registered; sets the data watch of its node."""
        return next(iter(self._get_brokers([broker_id])), None)

    def get_all_brokers_in_cluster(self) -> list[Broker]:
        return list(self._get_brokers(self.get_sorted_broker_list()))

    def get_all_broker_and_epochs_in_cluster(self) -> dict[Broker, int]:
        """Return every live broker with its epoch; sets the watches of /brokers/ids (children) and of each broker's
        node.
        """
        return self._get_brokers(self.get_sorted_broker_list())

    def get_sorted_broker_list(self) -> list[int]:
        """Return the ids of the live brokers; sets the children watch of /brokers/ids."""
        return sorted(int(name) for name in self.get_children(BrokersZNode.ids_path))

    # --- the controller -------------------------------------------------------------------------------------------

    def register_controller_and_increment_controller_epoch(self, controller_id: int) -> tuple[int, int]:
        """Become controller; return (controller epoch, version of /controller_epoch: the fencing token).

        Raises `ControllerMovedError` if another broker is or just became controller.
        """
        epoch, zk_version = self.get_controller_epoch() or self._create_controller_epoch()
        node = ControllerZNode.encode(controller_id, self._time.milliseconds())
        election = Multi(
            (
                Create(ControllerZNode.path, node, ephemeral=True),
                SetData(ControllerEpochZNode.path, ControllerEpochZNode.encode(epoch + 1), zk_version),
            )
        )
        response = self._pipeline.answer_to(election)
        if not isinstance(response.error, NodeExistsError | BadVersionError):
            return epoch + 1, response.raise_for_error().results[1].version
        # Perhaps this client's own attempt, whose answer was lost: then the node is its own and has the epoch of the
        # attempt.
        if self.get_controller_id() == controller_id:
            now = self.get_controller_epoch()
            if now is not None and now[0] == epoch + 1:
                return now
        raise ControllerMovedError("Another broker has become controller; this election is over")

    def get_controller_id(self) -> int | None:
        """Return the active controller's broker id; sets the watch of /controller."""
        data, version = self.get_data_and_version(ControllerZNode.path)
        return None if version == UNKNOWN_VERSION else ControllerZNode.decode(data)

    def get_controller_epoch(self) -> tuple[int, int] | None:
        """Return (controller epoch, version of /controller_epoch), None if there has been no controller yet."""
        data, version = self.get_data_and_version(ControllerEpochZNode.path)
        return None if version == UNKNOWN_VERSION else (ControllerEpochZNode.decode(data), version)

    def delete_controller(self, expected_controller_epoch_zk_version: int) -> None:
        """Resign as controller. Ignores a missing node."""
        self._delete_all([ControllerZNode.path], expected_controller_epoch_zk_version)

    # --- topics ---------------------------------------------------------------------------------------------------

    def get_all_topics_in_cluster(self, register_watch: bool = False) -> set[str]:
        """Return the names of all topics; `register_watch` sets the children watch of /brokers/topics."""
        request = GetChildren(BrokersZNode.topics_path, register_watch)
        return set(self._children(self._pipeline.answer_to(request)))

    def look_for_topics(self, topics: Iterable[str]) -> tuple[set[str], set[str]]:
        """Return which of these names are existing topics, and which of those are marked for deletion."""
        names = list(topics)
        paths = [TopicZNode.path(name) for name in names] + [DeleteTopicsTopicZNode.path(name) for name in names]
        found = [self._exists(response) for response in self._pipeline.data_of(paths)]
        return (
            {name for name, exists in zip(names, found, strict=False) if exists},
            {name for name, marked in zip(names, found[len(names) :], strict=True) if marked},
        )

    def create_topics(self, topics: Sequence[TopicToCreate]) -> list[Exception | None]:
        """Write each topic's configs, then its node; return None for each created topic. Many share a multi.

        `NodeExistsError`: a topic of that name exists. Raises `ControllerMovedError` if there is no controller.
        """
        controller_version = self._version_of_controller()
        writes: list[Create | Delete | SetData] = []
        for new in topics:
            writes.append(Create(ConfigEntityZNode.path("topics", new.topic), ConfigEntityZNode.encode(new.configs)))
            writes.append(Create(TopicZNode.path(new.topic), new.encode()))
        check = Check(ControllerZNode.path, controller_version)
        responses = self._pipeline.guarded(writes, check, "Cannot create topics: the controller has moved.", together=2)
        outcomes: list[Exception | None] = []
        for index, new in enumerate(topics):
            made = all(response.error is None for response in responses[2 * index : 2 * index + 2])
            outcomes.append(None if made else self._create_topic(new))
        return outcomes

    def _create_topic(self, new: TopicToCreate) -> Exception | None:
        """Create one topic for which the multi failed: its configs existed already, or a parent was missing."""
        try:
            self.set_or_create_entity_configs("topics", new.topic, new.configs)
            self.create_topic_assignment(new.topic, new.topic_id, new.assignment)
        except (ZooKeeperError, ControllerMovedError) as error:
            return error
        return None

    def create_topic_assignment(
        self, topic: str, topic_id: bytes | None, assignment: Mapping[int, Iterable[int]]
    ) -> None:
        """Create the topic's node; `NodeExistsError` if it exists."""
        try:
            self._pipeline.create_recursive(
                TopicZNode.path(topic), TopicToCreate(topic, topic_id, assignment, {}).encode()
            )
        except NodeExistsError:
            # The id is unique: a node with it is from an earlier attempt, whose answer was lost.
            if topic_id is None or self.get_topic_ids_for_topics([topic]).get(topic) != topic_id:
                raise

    def set_topic_assignment(
        self,
        topic: str,
        topic_id: bytes | None,
        assignment: Mapping[int, ReplicaAssignment],
        expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION,
    ) -> None:
        """Overwrite the topic's node; `NoNodeError` if there is none."""
        write = SetData(TopicZNode.path(topic), TopicZNode.encode(topic_id, assignment))
        self._pipeline.fenced([write], expected_controller_epoch_zk_version)[0].raise_for_error()

    def set_topic_ids(
        self, assignments: Iterable[TopicIdReplicaAssignment], expected_controller_epoch_zk_version: int
    ) -> list[TopicIdReplicaAssignment]:
        """Assign a new id to each of these topics (without an id); return them with it, without deleted ones."""
        updated = [a._replace(topic_id=uuid.random_uuid()) for a in assignments]
        writes = [SetData(TopicZNode.path(a.topic), TopicZNode.encode(a.topic_id, a.assignment)) for a in updated]
        responses = self._pipeline.fenced(writes, expected_controller_epoch_zk_version)
        return [a for a, response in zip(updated, responses, strict=True) if self._exists(response)]

    def get_replica_assignment_and_topic_id_for_topics(self, topics: Iterable[str]) -> list[TopicIdReplicaAssignment]:
        """Return assignments and ids, without missing topics; sets the data watch of each topic's node."""
        names = list(topics)
        responses = self._pipeline.answers_to([GetData(TopicZNode.path(topic)) for topic in names])
        return [TopicZNode.decode(t, r.data) for t, r in zip(names, responses, strict=True) if self._exists(r)]

    def get_full_replica_assignment_for_topics(self, topics: Iterable[str]) -> dict[TopicPartition, ReplicaAssignment]:
        return {
            TopicPartition(topic.topic, partition): assignment
            for topic in self.get_replica_assignment_and_topic_id_for_topics(topics)
            for partition, assignment in topic.assignment.items()
        }

    def get_topic_partition_count(self, topic: str) -> int | None:
        """Return the number of partitions; None if there is no such topic."""
        found = self.get_replica_assignment_and_topic_id_for_topics([topic])
        return len(found[0].assignment) if found else None

    def get_topic_ids_for_topics(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Return the ids of those topics that exist and have one."""
        found = self.get_replica_assignment_and_topic_id_for_topics(topics)
        return {topic.topic: topic.topic_id for topic in found if topic.topic_id is not None}

    def get_topic_deletions(self) -> list[str]:
        """Return the topics under /admin/delete_topics; sets its children watch."""
        return self.get_children(DeleteTopicsZNode.path)

    def create_delete_topic_paths(self, topics: Sequence[str]) -> dict[str, ZooKeeperError]:
        """Request deletion of the topics from the controller; return failures. It may have been requested before."""
        responses = self._pipeline.answers_to([Create(DeleteTopicsTopicZNode.path(topic)) for topic in topics])
        return {
            topic: response.error
            for topic, response in zip(topics, responses, strict=True)
            if response.error is not None and not isinstance(response.error, NodeExistsError)
        }

    def delete_topic_znode(self, topic: str, expected_controller_epoch_zk_version: int) -> None:
        """Delete the topic's node and its descendants, bottom up."""
        self._pipeline.delete_recursive(TopicZNode.path(topic), expected_controller_epoch_zk_version)

    def delete_topic_configs(self, topics: Iterable[str], expected_controller_epoch_zk_version: int) -> None:
        paths = [ConfigEntityZNode.path("topics", topic) for topic in topics]
        self._delete_all(paths, expected_controller_epoch_zk_version)

    def delete_topic_deletions(self, topics: Iterable[str], expected_controller_epoch_zk_version: int) -> None:
        self._delete_all([DeleteTopicsTopicZNode.path(t) for t in topics], expected_controller_epoch_zk_version)

    # --- partition states -----------------------------------------------------------------------------------------

    def get_topic_partition_states(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Return the states of partitions that have one; `partition_epoch` is the node's version. Sets the watches."""
        wanted = list(partitions)
        responses = self._pipeline.data_of([TopicPartitionStateZNode.path(p) for p in wanted])
        return {
            partition: TopicPartitionStateZNode.decode(response.data, response.version)
            for partition, response in zip(wanted, responses, strict=True)
            if self._exists(response)
        }

    def create_topic_partition_states(
        self,
        states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
        expected_controller_epoch_zk_version: int,
    ) -> dict[TopicPartition, ZooKeeperError | None]:
        """Create state nodes (with .../partitions and .../<p> above them); return None for each partition that
        succeeded.

        Kafka's `createTopicPartitionStatesRaw` with its `createTopicPartitions`.
        """
        roots = [Create(TopicPartitionsZNode.path(t)) for t in dict.fromkeys(p.topic for p in states)]
        nodes = [Create(TopicPartitionZNode.path(p)) for p in states]
        state_nodes = [
            Create(TopicPartitionStateZNode.path(p), TopicPartitionStateZNode.encode(s)) for p, s in states.items()
        ]
        responses = self._pipeline.fenced([*roots, *nodes, *state_nodes], expected_controller_epoch_zk_version)
        return dict(zip(states, (r.error for r in responses[-len(states) :]), strict=True)) if states else {}

    def update_leader_and_isr(
        self,
        leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: int,
        expected_controller_epoch_zk_version: int,
    ) -> UpdateLeaderAndIsrResult:
        """Write each state if its node still has the version `partition_epoch`."""
        writes = [
            SetData(
                TopicPartitionStateZNode.path(partition),
                TopicPartitionStateZNode.encode(LeaderIsrAndControllerEpoch(state, controller_epoch)),
                state.partition_epoch,
            )
            for partition, state in leader_and_isrs.items()
        ]
        responses = self._pipeline.fenced(writes, expected_controller_epoch_zk_version)
        result = UpdateLeaderAndIsrResult({}, [])
        for (partition, state), response in zip(leader_and_isrs.items(), responses, strict=True):
            if response.error is None:
                result.finished_partitions[partition] = state.with_partition_epoch(response.version)
            elif isinstance(response.error, BadVersionError):
                result.partitions_to_retry.append(partition)
            else:
                result.finished_partitions[partition] = response.error
        return result

    # --- configs --------------------------------------------------------------------------------------------------

    def get_entity_configs(self, root_entity_type: str, sanitized_entity_name: str) -> dict[str, str]:
        """Return the overrides of one entity, {} if it has none. Types: topics, brokers, clients, users, ips."""
        return self.get_entities_configs(root_entity_type, [sanitized_entity_name])[sanitized_entity_name]

    def get_entities_configs(
        self, root_entity_type: str, sanitized_entity_names: Iterable[str]
    ) -> dict[str, dict[str, str]]:
        """Return `get_entity_configs` of many at once; the result has all names as keys."""
        names = list(sanitized_entity_names)
        responses = self._pipeline.data_of([ConfigEntityZNode.path(root_entity_type, n) for n in names])
        return {
            name: ConfigEntityZNode.decode(response.data) if self._exists(response) else {}
            for name, response in zip(names, responses, strict=True)
        }

    def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        """Return the names under /config/<entity_type>."""
        return self.get_children(ConfigEntityTypeZNode.path(entity_type))

    def set_or_create_entity_configs(
        self,
        root_entity_type: str,
        sanitized_entity_name: str,
        config: Mapping[str, str],
        check_controller: bool = True,
    ) -> None:
        """Replace one entity's overrides; creates a missing node.

        `check_controller`: an existing node is written only while /controller exists unchanged (the guard of KRaft
        migration).
        """
        path, data = ConfigEntityZNode.path(root_entity_type, sanitized_entity_name), ConfigEntityZNode.encode(config)
        write = SetData(path, data)
        if check_controller:
            guarded = Multi((Check(ControllerZNode.path, self._version_of_controller()), write))
            response = self._pipeline.answer_to(guarded)
        else:
            response = self._pipeline.answer_to(write)
        if response.results and isinstance(response.results[0].error, BadVersionError | NoNodeError):
            raise ControllerMovedError("Cannot set entity configs: the controller has moved.")
        if isinstance(response.error, NoNodeError):
            try:
                self._pipeline.create_recursive(path, data)
            except NodeExistsError:
                self.set_data(path, data)
        else:
            response.raise_for_error()

    def set_or_create_configs_of_topics(self, configs: Mapping[str, Mapping[str, str]]) -> dict[str, ZooKeeperError]:
        """Do `set_or_create_entity_configs` of many topics at once; return the failed ones with their errors."""
        version = self._version_of_controller()
        writes = [SetData(ConfigEntityZNode.path("topics", t), ConfigEntityZNode.encode(c)) for t, c in configs.items()]
        check = Check(ControllerZNode.path, version)
        moved = "Cannot set entity configs: the controller has moved."
        failed: dict[str, ZooKeeperError] = {}
        for topic, response in zip(configs, self._pipeline.guarded(writes, check, moved), strict=True):
            try:
                if isinstance(response.error, NoNodeError):
                    self.set_or_create_entity_configs("topics", topic, configs[topic])
                else:
                    response.raise_for_error()
            except ZooKeeperError as error:
                failed[topic] = error
        return failed

    def _version_of_controller(self) -> int:
        controller, version = self.get_data_and_version(ControllerZNode.path)
        if version == UNKNOWN_VERSION:
            raise ControllerMovedError("Cannot set entity configs when there is no controller.")
        if ControllerZNode.decode_kraft_epoch(controller) > 0:
            raise ControllerMovedError("Cannot set entity configs directly when there is a KRaft controller.")
        return version

    def create_config_change_notification(self, *sanitized_entity_paths: str) -> None:
        """Notify every broker that the entities ("topics/t", "brokers/1") changed."""
        self._pipeline.create_recursive(ConfigEntityChangeNotificationZNode.path, exist_ok=True)
        node = ConfigEntityChangeNotificationZNode
        bells = [Create(node.create_path(), node.encode(path), sequential=True) for path in sanitized_entity_paths]
        for response in self._pipeline.answers_to(bells):
            response.raise_for_error()

    # --- notifications to the controller --------------------------------------------------------------------------

    def get_all_log_dir_event_notifications(self) -> list[str]:
        """Return the names of the log dir event nodes; sets the children watch."""
        return [sequence_number(name) for name in self.get_children(LogDirEventNotificationZNode.path)]

    def get_broker_ids_from_log_dir_events(self, sequence_numbers: Iterable[str]) -> list[int]:
        paths = [LogDirEventNotificationZNode.path_of(n) for n in sequence_numbers]
        return [LogDirEventNotificationZNode.decode(data) for data in self._get_all(paths)]

    def propagate_log_dir_event(self, broker_id: int) -> None:
        self._notify(LogDirEventNotificationZNode.create_path(), LogDirEventNotificationZNode.encode(broker_id))

    def delete_log_dir_event_notifications(
        self, expected_controller_epoch_zk_version: int, sequence_numbers: Iterable[str] | None = None
    ) -> None:
        """Delete these, or all of them if None."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_log_dir_event_notifications()
        paths = [LogDirEventNotificationZNode.path_of(n) for n in sequence_numbers]
        self._delete_all(paths, expected_controller_epoch_zk_version)

    def get_all_isr_change_notifications(self) -> list[str]:
        """Return the names of the ISR change nodes; sets the children watch."""
        return [sequence_number(name) for name in self.get_children(IsrChangeNotificationZNode.path)]

    def get_partitions_from_isr_change_notifications(self, sequence_numbers: Iterable[str]) -> list[TopicPartition]:
        paths = [IsrChangeNotificationZNode.path_of(n) for n in sequence_numbers]
        return [p for data in self._get_all(paths) for p in IsrChangeNotificationZNode.decode(data)]

    def propagate_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        self._notify(IsrChangeNotificationZNode.create_path(), IsrChangeNotificationZNode.encode(partitions))

    def delete_isr_change_notifications(
        self, expected_controller_epoch_zk_version: int, sequence_numbers: Iterable[str] | None = None
    ) -> None:
        """Delete these, or all of them if None."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_isr_change_notifications()
        paths = [IsrChangeNotificationZNode.path_of(n) for n in sequence_numbers]
        self._delete_all(paths, expected_controller_epoch_zk_version)

    def get_preferred_replica_election(self) -> set[TopicPartition]:
        """Return the partitions in the legacy election node; sets its watch. Empty if there is none."""
        data, version = self.get_data_and_version(PreferredReplicaElectionZNode.path)
        return set() if version == UNKNOWN_VERSION else PreferredReplicaElectionZNode.decode(data)

    def delete_preferred_replica_election(self, expected_controller_epoch_zk_version: int) -> None:
        self._delete_all([PreferredReplicaElectionZNode.path], expected_controller_epoch_zk_version)

    def get_partition_reassignment(self) -> dict[TopicPartition, list[int]]:
        """Return the partitions in the legacy reassignment node; sets its watch. Empty if there is none."""
        data, version = self.get_data_and_version(ReassignPartitionsZNode.path)
        return {} if version == UNKNOWN_VERSION else ReassignPartitionsZNode.decode(data)

    def set_or_create_partition_reassignment(
        self, reassignment: Mapping[TopicPartition, Iterable[int]], expected_controller_epoch_zk_version: int
    ) -> None:
        path, data = ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode(reassignment)
        epoch_version = expected_controller_epoch_zk_version
        response = self._pipeline.fenced([SetData(path, data)], epoch_version)[0]
        if isinstance(response.error, NoNodeError):
            response = self._pipeline.fenced([Create(path, data)], epoch_version)[0]
        response.raise_for_error()

    def delete_partition_reassignment(self, expected_controller_epoch_zk_version: int) -> None:
        self._delete_all([ReassignPartitionsZNode.path], expected_controller_epoch_zk_version)

    # --- offsets of old consumers ---------------------------------------------------------------------------------

    def get_consumer_offset(self, group: str, partition: TopicPartition) -> int | None:
        """Return the offset that the group has stored in ZooKeeper, None if it has none."""
        response = self._pipeline.answer_to(GetData(ConsumerOffsetZNode.path(group, partition)))
        return ConsumerOffsetZNode.decode(response.data) if self._exists(response) else None

    def set_or_create_consumer_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        path, data = ConsumerOffsetZNode.path(group, partition), ConsumerOffsetZNode.encode(offset)
        if not self._exists(self._pipeline.answer_to(SetData(path, data, MATCH_ANY_VERSION))):
            self._pipeline.create_recursive(path, data)

    # --- single nodes ---------------------------------------------------------------------------------------------

    def path_exists(self, path: str) -> bool:
        """Return whether the node exists; also sets the watch of `path` if a handler is registered for it."""
        return self._exists(self._pipeline.answer_to(Exists(path)))

    def get_children(self, path: str) -> list[str]:
        """Return the children; [] if there is no such node. Also sets the children watch of `path` if a handler is
        registered.
        """
        return self._children(self._pipeline.answer_to(GetChildren(path)))

    def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        """Return (data, zk version); (None, UNKNOWN_VERSION) if there is no such node. Sets the watch."""
        response = self._pipeline.answer_to(GetData(path))
        if not self._exists(response):
            # Reading a missing node sets no watch, `exists` does; the node may have been created in between.
            if not self.path_exists(path):
                return None, UNKNOWN_VERSION
            return self.get_data_and_version(path)
        return response.data, response.version

    def get_data_and_ctime(self, path: str) -> tuple[bytes | None, int] | None:
        """Return (data, creation time in ms), None if there is no such node."""
        response = self._pipeline.answer_to(GetData(path))
        return (response.data, response.stat.ctime) if self._exists(response) and response.stat else None

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes | None, int] | None]:
        """Return (data, zk version) of each path in order, None where there is no such node. Many share a request."""
        responses = self._pipeline.data_of(paths)
        return [(response.data, response.version) if self._exists(response) else None for response in responses]

    def create_recursive(self, path: str, data: bytes | None = None) -> None:
        """Create `path` and its missing parents; `NodeExistsError` if it exists."""
        self._pipeline.create_recursive(path, data)

    def create_sequential(self, path_prefix: str, data: bytes) -> None:
        """Create a persistent node whose name ends with ZooKeeper's next number."""
        self._notify(path_prefix, data)

    def create_all_sequential(self, prefixes_and_data: Iterable[tuple[str, bytes]]) -> None:
        """The same for each, in order, all on the way together."""
        for response in self._pipeline.answers_to([Create(p, data, sequential=True) for p, data in prefixes_and_data]):
            response.raise_for_error()

    def conditional_writes(self, writes: Sequence[Create | SetData | Delete]) -> list[int | None]:
        """All on the way together; of each the node's new version, UNKNOWN_VERSION for one that is gone, or None: it failed."""
        versions: list[int | None] = []
        for write, response in zip(writes, self._pipeline.answers_to(writes), strict=True):
            if isinstance(write, SetData) and isinstance(response.error, BadVersionError):
                updated, version = self.conditional_update_path(*write)
                versions.append(version if updated else None)
            elif isinstance(write, Delete) and isinstance(response.error, NoNodeError):
                versions.append(UNKNOWN_VERSION)
            elif response.error is not None:
                versions.append(None)
            elif isinstance(write, Delete):
                versions.append(UNKNOWN_VERSION)
            else:
                versions.append(response.version if isinstance(write, SetData) else 0)
        return versions

    def conditional_update_path(self, path: str, data: bytes, expected_version: int) -> tuple[bool, int]:
        """Compare-and-set: return (True, new version), or (False, UNKNOWN_VERSION) if the node has another version or
        is deleted.

        If the reply was lost and the node now contains exactly `data`, the update was this client's and counts as done.
        """
        response = self._pipeline.answer_to(SetData(path, data, expected_version))
        if isinstance(response.error, BadVersionError):
            now = self.get_data_and_version(path)
            return (True, now[1]) if now[0] == data else (False, UNKNOWN_VERSION)
        return (True, response.version) if self._exists(response) else (False, UNKNOWN_VERSION)

    def conditional_delete(self, path: str, expected_version: int) -> bool:
        """Compare-and-delete: return False if the node has another version; a missing node counts as deleted."""
        response = self._pipeline.answer_to(Delete(path, expected_version))
        if isinstance(response.error, BadVersionError):
            return False
        self._exists(response)
        return True

    def set_data(self, path: str, data: bytes, expected_version: int = MATCH_ANY_VERSION) -> int:
        """Write an existing node; return its new version."""
        return self._pipeline.answer_to(SetData(path, data, expected_version)).raise_for_error().version

    def delete_path(self, path: str) -> bool:
        """Delete the node and its descendants; return False if there was none."""
        return self._pipeline.delete_recursive(path)

    @property
    def session_id(self) -> int | None:
        """The current session's id, None while there is none."""
        return self._client.session_id

    def close(self) -> None:
        """End the session (ephemeral nodes are deleted immediately)."""
        self._client.close()

    # --- helpers --------------------------------------------------------------------------------------------------

    def _exists(self, response: Response) -> bool:
        """Return whether the node existed; other errors are raised."""
        return not isinstance(response.error, NoNodeError) and response.raise_for_error() is response

    def _children(self, response: Response) -> list[str]:
        return response.children if self._exists(response) else []

    def _notify(self, path: str, data: bytes) -> None:
        self._pipeline.answer_to(Create(path, data, sequential=True)).raise_for_error()

    def _get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the data of existing nodes."""
        return [r.data for r in self._pipeline.answers_to([GetData(path) for path in paths]) if self._exists(r)]

    def _delete_all(self, paths: Sequence[str], epoch_zk_version: int) -> None:
        """Do fenced deletes; missing nodes count as deleted."""
        for response in self._pipeline.fenced([Delete(path) for path in paths], epoch_zk_version):
            self._exists(response)

    def _get_brokers(self, broker_ids: Sequence[int]) -> dict[Broker, int]:
        """Return the registered ones, with their epochs."""
        responses = self._pipeline.answers_to([GetData(BrokerIdZNode.path(i)) for i in broker_ids])
        return {
            BrokerIdZNode.decode(broker_id, response.data).broker: response.stat.czxid
            for broker_id, response in zip(broker_ids, responses, strict=True)
            if self._exists(response) and response.stat
        }

    def _create_controller_epoch(self) -> tuple[int, int]:
        """Create the node, as the first controller of a cluster; if another broker has just created it, read it."""
        initial = ControllerEpochZNode.encode(ControllerEpochZNode.initial_epoch)
        try:
            self._pipeline.create_recursive(ControllerEpochZNode.path, initial)
        except NodeExistsError:
            pass
        epoch = self.get_controller_epoch()
        if epoch is None:
            raise NoNodeError(path=ControllerEpochZNode.path)
        return epoch
