"""Kafka's operations on ZooKeeper, typed and fenced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafkapy.common.broker import Broker
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.replica_assignment import ReplicaAssignment, TopicIdReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.zk_data import BrokerInfo

MATCH_ANY_VERSION = -1
UNKNOWN_VERSION = -2


@dataclass(frozen=True, slots=True)
class UpdateLeaderAndIsrResult:
    """What became of a batch of state updates.

    `finished_partitions`: written (the state with its new partition epoch) or failed for good (the error);
    `partitions_to_retry`: another version was found; read the state again and decide anew.
    """

    finished_partitions: dict[TopicPartition, LeaderAndIsr | ZooKeeperError]
    partitions_to_retry: list[TopicPartition]


class KafkaZkClient:
    """Kafka's ZooKeeper operations by Kafka's names (`kafka.zk.KafkaZkClient`).

    Every method blocks until the answer is there, waits for the connection if it is lost and repeats the request then: so every caller
    accepts that an earlier try of its own may have gone through. Safe to call from several threads, never from the reactor or
    from a watch handler. Methods raise `ZooKeeperError` subclasses for what their docstring does not say otherwise.

    Fencing: methods with `expected_controller_epoch_zk_version` send each write as a multi with a check of
    /controller_epoch's version and raise `ControllerMovedError` if it has another one. MATCH_ANY_VERSION: no check.
    Methods that take many partitions pipeline their requests.
    """

    # --- handlers -------------------------------------------------------------------------------------------------

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        raise NotImplementedError

    def unregister_state_change_handler(self, name: str) -> None:
        raise NotImplementedError

    def register_znode_change_handler(self, handler: ZNodeChangeHandler) -> None:
        """Have `handler` called for changes of its path, from the next `exists`/`get_data` read of that path on."""
        raise NotImplementedError

    def register_znode_change_handler_and_check_existence(self, handler: ZNodeChangeHandler) -> bool:
        """Register and arm the watch by asking whether the node exists; returns the answer."""
        raise NotImplementedError

    def unregister_znode_change_handler(self, path: str) -> None:
        raise NotImplementedError

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        """Have `handler` called for children of its path, from the next read of the children on."""
        raise NotImplementedError

    def unregister_znode_child_change_handler(self, path: str) -> None:
        raise NotImplementedError

    # --- start-up and brokers -------------------------------------------------------------------------------------

    def create_top_level_paths(self) -> None:
        """Create the persistent roots that are missing, in Kafka's order."""
        raise NotImplementedError

    def get_cluster_id(self) -> str | None:
        raise NotImplementedError

    def get_or_create_cluster_id(self, proposed: str) -> str:
        """The cluster's id; `proposed` becomes it if there is none."""
        raise NotImplementedError

    def generate_broker_id(self, reserved_broker_max_id: int) -> int:
        """A broker id no one has, above `reserved_broker_max_id` (a counter in /brokers/seqid)."""
        raise NotImplementedError

    def register_broker(self, broker_info: BrokerInfo) -> int:
        """Create /brokers/ids/<id>; returns the broker epoch (its czxid).

        A node of our own expired session is deleted and made again; a node of another live session (a killed predecessor) is
        waited for until that session ends; `NodeExistsError` if it does not end.
        """
        raise NotImplementedError

    def update_broker_info(self, broker_info: BrokerInfo) -> None:
        """Overwrite /brokers/ids/<id> (changed listeners); the broker epoch stays."""
        raise NotImplementedError

    def get_broker(self, broker_id: int) -> Broker | None:
        """The broker if registered; arms the data watch of its node."""
        raise NotImplementedError

    def get_all_brokers_in_cluster(self) -> list[Broker]:
        raise NotImplementedError

    def get_all_broker_and_epochs_in_cluster(self) -> dict[Broker, int]:
        """Every live broker with its epoch; arms the watches of /brokers/ids (children) and of each broker's node."""
        raise NotImplementedError

    def get_sorted_broker_list(self) -> list[int]:
        """Ids of the live brokers; arms the children watch of /brokers/ids."""
        raise NotImplementedError

    # --- the controller -------------------------------------------------------------------------------------------

    def register_controller_and_increment_controller_epoch(self, controller_id: int) -> tuple[int, int]:
        """Become controller; returns (controller epoch, version of /controller_epoch: the fencing token).

        Raises `ControllerMovedError` if another broker is or just became controller.
        """
        raise NotImplementedError

    def get_controller_id(self) -> int | None:
        """The active controller's broker id; arms the watch of /controller."""
        raise NotImplementedError

    def get_controller_epoch(self) -> tuple[int, int] | None:
        """(controller epoch, version of /controller_epoch), None if there has been no controller yet."""
        raise NotImplementedError

    def delete_controller(self, expected_controller_epoch_zk_version: int) -> None:
        """Give up being controller. Not an error if the node is gone."""
        raise NotImplementedError

    # --- topics ---------------------------------------------------------------------------------------------------

    def get_all_topics_in_cluster(self, register_watch: bool = False) -> set[str]:
        """Names of all topics; `register_watch` arms the children watch of /brokers/topics."""
        raise NotImplementedError

    def topic_exists(self, topic: str) -> bool:
        raise NotImplementedError

    def is_topic_marked_for_deletion(self, topic: str) -> bool:
        raise NotImplementedError

    def create_topic_assignment(
        self, topic: str, topic_id: bytes | None, assignment: Mapping[int, Iterable[int]]
    ) -> None:
        """Create the topic's node; `NodeExistsError` if it is there."""
        raise NotImplementedError

    def set_topic_assignment(
        self,
        topic: str,
        topic_id: bytes | None,
        assignment: Mapping[int, ReplicaAssignment],
        expected_controller_epoch_zk_version: int = MATCH_ANY_VERSION,
    ) -> None:
        """Overwrite the topic's node; `NoNodeError` if there is none."""
        raise NotImplementedError

    def set_topic_ids(
        self, assignments: Iterable[TopicIdReplicaAssignment], expected_controller_epoch_zk_version: int
    ) -> list[TopicIdReplicaAssignment]:
        """Give each of these topics (without an id) a fresh id; returns them with it. Topics that are gone are left out."""
        raise NotImplementedError

    def get_replica_assignment_and_topic_id_for_topics(self, topics: Iterable[str]) -> list[TopicIdReplicaAssignment]:
        """Topics that are not there are left out; arms the data watch of each topic's node."""
        raise NotImplementedError

    def get_full_replica_assignment_for_topics(self, topics: Iterable[str]) -> dict[TopicPartition, ReplicaAssignment]:
        raise NotImplementedError

    def get_topic_ids_for_topics(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Ids of those topics that exist and have one."""
        raise NotImplementedError

    def get_topic_deletions(self) -> list[str]:
        """Topics under /admin/delete_topics; arms its children watch."""
        raise NotImplementedError

    def create_delete_topic_path(self, topic: str) -> None:
        """Ask the controller to delete the topic; `NodeExistsError` if that was asked before."""
        raise NotImplementedError

    def delete_topic_znode(self, topic: str, expected_controller_epoch_zk_version: int) -> None:
        """Delete the topic's node and all below it, bottom up."""
        raise NotImplementedError

    def delete_topic_configs(self, topics: Iterable[str], expected_controller_epoch_zk_version: int) -> None:
        raise NotImplementedError

    def delete_topic_deletions(self, topics: Iterable[str], expected_controller_epoch_zk_version: int) -> None:
        raise NotImplementedError

    # --- partition states -----------------------------------------------------------------------------------------

    def get_topic_partition_states(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """States of those partitions that have one; `partition_epoch` is the node's version. Arms registered watches."""
        raise NotImplementedError

    def create_topic_partition_states(
        self,
        states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
        expected_controller_epoch_zk_version: int,
    ) -> dict[TopicPartition, ZooKeeperError | None]:
        """Create state nodes (with .../partitions and .../<p> above them); None for each partition that succeeded.

        Kafka's `createTopicPartitionStatesRaw` with its `createTopicPartitions`.
        """
        raise NotImplementedError

    def update_leader_and_isr(
        self,
        leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: int,
        expected_controller_epoch_zk_version: int,
    ) -> UpdateLeaderAndIsrResult:
        """Write each state if its node still has the version `partition_epoch`."""
        raise NotImplementedError

    # --- configs --------------------------------------------------------------------------------------------------

    def get_entity_configs(self, root_entity_type: str, sanitized_entity_name: str) -> dict[str, str]:
        """The overrides of one entity, {} if it has none. Types: topics, brokers, clients, users, ips."""
        raise NotImplementedError

    def get_entities_configs(
        self, root_entity_type: str, sanitized_entity_names: Iterable[str]
    ) -> dict[str, dict[str, str]]:
        """`get_entity_configs` of many, pipelined; every name is a key of the answer."""
        raise NotImplementedError

    def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        """Names under /config/<entity_type>."""
        raise NotImplementedError

    def set_or_create_entity_configs(
        self, root_entity_type: str, sanitized_entity_name: str, config: Mapping[str, str]
    ) -> None:
        """Replace one entity's overrides, its node is created if missing.

        An existing node is written only while /controller is there and unchanged (the guard of KRaft migration).
        """
        raise NotImplementedError

    def create_config_change_notification(self, sanitized_entity_path: str) -> None:
        """Tell every broker that the entity ("topics/t", "brokers/1") changed."""
        raise NotImplementedError

    # --- notifications to the controller --------------------------------------------------------------------------

    def get_all_log_dir_event_notifications(self) -> list[str]:
        """Names of the log dir event nodes; arms the children watch."""
        raise NotImplementedError

    def get_broker_ids_from_log_dir_events(self, sequence_numbers: Iterable[str]) -> list[int]:
        raise NotImplementedError

    def propagate_log_dir_event(self, broker_id: int) -> None:
        raise NotImplementedError

    def delete_log_dir_event_notifications(
        self, expected_controller_epoch_zk_version: int, sequence_numbers: Iterable[str] | None = None
    ) -> None:
        """Delete these, or all of them if None."""
        raise NotImplementedError

    def get_all_isr_change_notifications(self) -> list[str]:
        """Names of the ISR change nodes; arms the children watch."""
        raise NotImplementedError

    def get_partitions_from_isr_change_notifications(self, sequence_numbers: Iterable[str]) -> list[TopicPartition]:
        raise NotImplementedError

    def propagate_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        raise NotImplementedError

    def delete_isr_change_notifications(
        self, expected_controller_epoch_zk_version: int, sequence_numbers: Iterable[str] | None = None
    ) -> None:
        """Delete these, or all of them if None."""
        raise NotImplementedError

    def get_preferred_replica_election(self) -> set[TopicPartition]:
        """What the legacy election node asks for; arms its watch. Empty if there is none."""
        raise NotImplementedError

    def delete_preferred_replica_election(self, expected_controller_epoch_zk_version: int) -> None:
        raise NotImplementedError

    def get_partition_reassignment(self) -> dict[TopicPartition, list[int]]:
        """What the legacy reassignment node asks for; arms its watch. Empty if there is none."""
        raise NotImplementedError

    def set_or_create_partition_reassignment(
        self, reassignment: Mapping[TopicPartition, Iterable[int]], expected_controller_epoch_zk_version: int
    ) -> None:
        raise NotImplementedError

    def delete_partition_reassignment(self, expected_controller_epoch_zk_version: int) -> None:
        raise NotImplementedError

    # --- single nodes ---------------------------------------------------------------------------------------------

    def path_exists(self, path: str) -> bool:
        """Also arms the watch of `path` if a handler is registered for it."""
        raise NotImplementedError

    def get_children(self, path: str) -> list[str]:
        """Also arms the children watch of `path` if a handler is registered for it; [] if there is no such node."""
        raise NotImplementedError

    def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        """(data, zk version); (None, UNKNOWN_VERSION) if there is no such node. Arms the watch."""
        raise NotImplementedError

    def get_data_and_ctime(self, path: str) -> tuple[bytes | None, int] | None:
        """(data, creation time in ms), None if there is no such node."""
        raise NotImplementedError

    def create_recursive(self, path: str, data: bytes | None = None) -> None:
        """Create `path` and the parents that are missing; `NodeExistsError` if it is there."""
        raise NotImplementedError

    def conditional_update_path(self, path: str, data: bytes, expected_version: int) -> tuple[bool, int]:
        """Compare-and-set: (True, new version), or (False, UNKNOWN_VERSION) if the node has moved on or is gone.

        If the reply was lost and the node now holds exactly `data`, the update is ours and counts as done.
        """
        raise NotImplementedError

    def set_data(self, path: str, data: bytes, expected_version: int = MATCH_ANY_VERSION) -> int:
        """Write an existing node; returns its new version."""
        raise NotImplementedError

    def delete_path(self, path: str) -> bool:
        """Delete the node and all below it; False if there was none."""
        raise NotImplementedError

    @property
    def session_id(self) -> int | None:
        """The present session's id, None while there is none."""
        raise NotImplementedError

    def close(self) -> None:
        """End the session (ephemeral nodes go at once)."""
        raise NotImplementedError
