"""kafka-python's operations as methods of the three faces. What type checkers and editors see is the stub beside this
file, where they give values, asyncio's futures or Deferreds."""

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkapy.admin.acl_types import ACL, ACLFilter
from kafkapy.admin.kafka_python.base import ErrorClass
from kafkapy.admin.kafka_python.cluster import BrokerVersionData
from kafkapy.admin.kafka_python.configs import Described
from kafkapy.admin.kafka_python.groups import Offsets
from kafkapy.admin.kafka_python.partitions import Chosen
from kafkapy.admin.kafka_python.topics import NewTopics
from kafkapy.admin.topics import NewPartitions
from kafkapy.admin.types import (
    AbortTransactionSpec,
    ConfigFilterType,
    ConfigResource,
    GroupState,
    GroupType,
    MemberToRemove,
    PartitionProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigResourceType, ElectionType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.create_partitions import CreatePartitionsResponse
from kafkapy.protocol.messages.elect_leaders import ElectLeadersResponse
from kafkapy.structs import (
    IsolationLevel,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OffsetSpec,
    OffsetTimestamp,
    TopicPartitionReplica,
)

class BlockingMethods:
    def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Write an abort marker into one partition. Raises its error."""
    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Set configs; a value may be `(op, value)` with an `AlterConfigOp`. Resource type -> name -> "OK" or an error.

        `incremental` None: where the broker can (from 2.3 on), else all is written anew with what was set before.
        Raises ValueError for keys that are not known, unless `raise_on_unknown` is False."""
    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, ErrorClass]:
        """Commit offsets for a group without members. Partition -> error class, `NoError` for success."""
    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int | None = None
    ) -> dict[TopicPartition, ErrorClass | None]:
        """Give partitions other replicas (broker ids; None: cancel). Partition -> error class, None for success."""
    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, ErrorClass]:
        """Move replicas to other directories of their brokers. Replica -> error class, `NoError` for success."""
    def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> dict[str, str | None]:
        """User -> None, or why it failed."""
    def api_versions(self) -> dict[ApiKey | int, tuple[int, int]]:
        """API -> lowest and highest version that a broker serves; a plain number for an API unknown here."""
    def create_acls(self, acls: Sequence[ACL]) -> dict[str, list[Any]]:
        """{succeeded: [ACL], failed: [error class]}."""
    def create_partitions(
        self,
        topic_partitions: Mapping[str, int | NewPartitions | Mapping[str, Any]],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> CreatePartitionsResponse:
        """More partitions: topic -> the count it shall have, a `NewPartitions`, or {count, assignments}. Gives the
        response; raises the first error, unless `raise_errors` is False."""
    def create_topics(
        self,
        new_topics: NewTopics,
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics: a list of names or `NewTopic`s, or a dict of name -> {num_partitions, replication_factor,
        assignments, configs}. Gives the response as a dict. Raises the first error, unless `raise_errors` is False."""
    def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> list[tuple[ACLFilter, list[ACL], ErrorClass]]:
        """For each filter: it, the ACLs that were deleted, and an error class (`NoError` for success)."""
    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], group_coordinator_id: int | None = None
    ) -> dict[TopicPartition, ErrorClass]:
        """Forget committed offsets. Partition -> error class, `NoError` for success. Raises what concerns the group."""
    def delete_groups(self, group_ids: Iterable[str], group_coordinator_id: int | None = None) -> dict[str, str]:
        """Group -> "OK" or the name of an error's class."""
    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: int | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Delete what lies before the offsets (-1: all there is). Partition -> {partition_index, low_watermark,
        error_code}. Raises the partitions' errors. With `partition_leader_id` that broker is asked, and once."""
    def delete_topics(
        self, topics: Sequence[str | uuid.UUID], timeout_ms: int | None = None, raise_errors: bool = True
    ) -> dict[str, Any]:
        """Delete topics by name or id. Gives the response as a dict; raises the first error."""
    def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], ErrorClass]:
        """The ACLs that match, and `NoError`. Raises SecurityDisabledError if the brokers have no authorizer."""
    def describe_cluster(self) -> dict[str, Any]:
        """cluster_id, controller_id, brokers (broker_id, host, port, rack) and authorized_operations."""
    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> dict[str, Described]:
        """Resource type -> name -> key -> what is known of it. A resource's `configs` name the keys; None: all.

        `config_filter`: modified (set for the resource), dynamic (may be altered), default, static or all."""
    def describe_features(self, send_request_to_controller: bool = False) -> dict[str, dict[str, Any]]:
        """Feature -> supported (lowest, highest), finalized (lowest, highest), finalized_epoch (KIP-584)."""
    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Group -> description, as in DescribeGroups, members' metadata and assignment decoded. `error` is None or a
        sentence. `include_authorized_operations` has no effect: they are always asked for, as kafka-python does."""
    def describe_log_dirs(
        self, topic_partitions: Chosen = None, brokers: Iterable[int] | None = None
    ) -> list[dict[str, Any]]:
        """Sizes of replicas: of {topic: [partitions]}, [topics] or None for all; on these brokers, else on all."""
    def describe_metadata_quorum(self) -> dict[str, Any]:
        """Leader, voters and observers of the metadata log. Needs a cluster in KRaft mode."""
    def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducerState]:
        """Partition -> its active producers, as the leader (or the replica on `broker_id`) knows them."""
    def describe_topic_partitions(
        self, topics: Iterable[str], response_partition_limit: int = 2000, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Partitions page by page, with eligible leader replicas (KIP-966). Needs a KRaft broker from 3.7 on."""
    def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> list[dict[str, Any]]:
        """Topics with their partitions, as in Metadata; None: all. A `uuid.UUID` is a topic's id (KIP-516)."""
    def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """Transactional id -> its state. Raises the first one's error."""
    def describe_user_scram_credentials(self, users: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """User -> {error, credential_infos: [{mechanism, iterations}]}; None: all users that have any."""
    def elect_leaders(
        self,
        election_type: ElectionType | int,
        topic_partitions: Chosen = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> ElectLeadersResponse:
        """Elect leaders anew: {topic: [partitions]}, [topics] or None for all. Gives the response; raises the first
        error but ELECTION_NOT_NEEDED, unless `raise_errors` is False."""
    def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900000
    ) -> list[dict[str, Any]]:
        """Transactions that are older than any may be, as dicts."""
    def get_broker_version_data(self, broker_id: int) -> BrokerVersionData:
        """What one broker serves."""
    def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> dict[str, list[str]]:
        """Resource type -> names of the resources that have configs (KIP-1142). Needs a broker from 4.1 on (3.7 for
        CLIENT_METRICS)."""
    def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, Offsets]:
        """Group -> partition -> committed offset. Groups by name, or {group: partitions} (None: all there are).

        Partitions without a committed offset that are asked for by name have offset -1. Raises the first error."""
    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> list[dict[str, Any]]:
        """Groups as dicts, as in ListGroups; of these brokers, else of all."""
    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Look up offsets by `OffsetSpec` or by time (ms). Raises the first partition's error."""
    def list_partition_reassignments(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """Reassignments that are under way: of {topic: [partitions]}, [TopicPartition] or None for all."""
    def list_topics(self) -> list[str]:
        """Names of all topics."""
    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[TransactionState | str] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """Broker -> transactions that it coordinates. `duration_filter_ms` needs a broker from 3.8 on;
        `transactional_id_pattern` (KIP-1152) is not supported and raises UnsupportedVersionError."""
    def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> dict[str, ErrorClass]:
        """Throw members out. Member id (else instance id) -> error class, `NoError` for success."""
    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Back to the defaults: the keys that a resource's `configs` name; all that were set if there are none."""
    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Commit what `OffsetSpec`, `OffsetTimestamp` or a plain offset stand for, moved into the partition's range.

        Partition -> {error: class, offset: what was committed}."""
    def update_features(
        self, feature_updates: Mapping[str, Any], validate_only: bool = False, timeout_ms: int = 60000
    ) -> dict[str, str]:
        """Finalize features: name -> level or (UpdateFeatureType, level). Feature -> "OK" or an error."""
    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10000) -> None:
        """Until each topic is there with a leader for each partition. Raises KafkaTimeoutError."""

class AwaitableMethods:
    def abort_transaction(self, spec: AbortTransactionSpec) -> asyncio.Future[None]:
        """Write an abort marker into one partition. Raises its error."""
    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> asyncio.Future[dict[str, dict[str, str]]]:
        """Set configs; a value may be `(op, value)` with an `AlterConfigOp`. Resource type -> name -> "OK" or an error.

        `incremental` None: where the broker can (from 2.3 on), else all is written anew with what was set before.
        Raises ValueError for keys that are not known, unless `raise_on_unknown` is False."""
    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> asyncio.Future[dict[TopicPartition, ErrorClass]]:
        """Commit offsets for a group without members. Partition -> error class, `NoError` for success."""
    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int | None = None
    ) -> asyncio.Future[dict[TopicPartition, ErrorClass | None]]:
        """Give partitions other replicas (broker ids; None: cancel). Partition -> error class, None for success."""
    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> asyncio.Future[dict[TopicPartitionReplica, ErrorClass]]:
        """Move replicas to other directories of their brokers. Replica -> error class, `NoError` for success."""
    def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> asyncio.Future[dict[str, str | None]]:
        """User -> None, or why it failed."""
    def api_versions(self) -> asyncio.Future[dict[ApiKey | int, tuple[int, int]]]:
        """API -> lowest and highest version that a broker serves; a plain number for an API unknown here."""
    def create_acls(self, acls: Sequence[ACL]) -> asyncio.Future[dict[str, list[Any]]]:
        """{succeeded: [ACL], failed: [error class]}."""
    def create_partitions(
        self,
        topic_partitions: Mapping[str, int | NewPartitions | Mapping[str, Any]],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> asyncio.Future[CreatePartitionsResponse]:
        """More partitions: topic -> the count it shall have, a `NewPartitions`, or {count, assignments}. Gives the
        response; raises the first error, unless `raise_errors` is False."""
    def create_topics(
        self,
        new_topics: NewTopics,
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> asyncio.Future[dict[str, Any]]:
        """Create topics: a list of names or `NewTopic`s, or a dict of name -> {num_partitions, replication_factor,
        assignments, configs}. Gives the response as a dict. Raises the first error, unless `raise_errors` is False."""
    def delete_acls(
        self, acl_filters: Sequence[ACLFilter]
    ) -> asyncio.Future[list[tuple[ACLFilter, list[ACL], ErrorClass]]]:
        """For each filter: it, the ACLs that were deleted, and an error class (`NoError` for success)."""
    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], group_coordinator_id: int | None = None
    ) -> asyncio.Future[dict[TopicPartition, ErrorClass]]:
        """Forget committed offsets. Partition -> error class, `NoError` for success. Raises what concerns the group."""
    def delete_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> asyncio.Future[dict[str, str]]:
        """Group -> "OK" or the name of an error's class."""
    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: int | None = None,
        partition_leader_id: int | None = None,
    ) -> asyncio.Future[dict[TopicPartition, dict[str, Any]]]:
        """Delete what lies before the offsets (-1: all there is). Partition -> {partition_index, low_watermark,
        error_code}. Raises the partitions' errors. With `partition_leader_id` that broker is asked, and once."""
    def delete_topics(
        self, topics: Sequence[str | uuid.UUID], timeout_ms: int | None = None, raise_errors: bool = True
    ) -> asyncio.Future[dict[str, Any]]:
        """Delete topics by name or id. Gives the response as a dict; raises the first error."""
    def describe_acls(self, acl_filter: ACLFilter) -> asyncio.Future[tuple[list[ACL], ErrorClass]]:
        """The ACLs that match, and `NoError`. Raises SecurityDisabledError if the brokers have no authorizer."""
    def describe_cluster(self) -> asyncio.Future[dict[str, Any]]:
        """cluster_id, controller_id, brokers (broker_id, host, port, rack) and authorized_operations."""
    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> asyncio.Future[dict[str, Described]]:
        """Resource type -> name -> key -> what is known of it. A resource's `configs` name the keys; None: all.

        `config_filter`: modified (set for the resource), dynamic (may be altered), default, static or all."""
    def describe_features(self, send_request_to_controller: bool = False) -> asyncio.Future[dict[str, dict[str, Any]]]:
        """Feature -> supported (lowest, highest), finalized (lowest, highest), finalized_epoch (KIP-584)."""
    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> asyncio.Future[dict[str, dict[str, Any]]]:
        """Group -> description, as in DescribeGroups, members' metadata and assignment decoded. `error` is None or a
        sentence. `include_authorized_operations` has no effect: they are always asked for, as kafka-python does."""
    def describe_log_dirs(
        self, topic_partitions: Chosen = None, brokers: Iterable[int] | None = None
    ) -> asyncio.Future[list[dict[str, Any]]]:
        """Sizes of replicas: of {topic: [partitions]}, [topics] or None for all; on these brokers, else on all."""
    def describe_metadata_quorum(self) -> asyncio.Future[dict[str, Any]]:
        """Leader, voters and observers of the metadata log. Needs a cluster in KRaft mode."""
    def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> asyncio.Future[dict[TopicPartition, PartitionProducerState]]:
        """Partition -> its active producers, as the leader (or the replica on `broker_id`) knows them."""
    def describe_topic_partitions(
        self, topics: Iterable[str], response_partition_limit: int = 2000, cursor: Mapping[str, Any] | None = None
    ) -> asyncio.Future[dict[str, Any]]:
        """Partitions page by page, with eligible leader replicas (KIP-966). Needs a KRaft broker from 3.7 on."""
    def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> asyncio.Future[list[dict[str, Any]]]:
        """Topics with their partitions, as in Metadata; None: all. A `uuid.UUID` is a topic's id (KIP-516)."""
    def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> asyncio.Future[dict[str, TransactionDescription]]:
        """Transactional id -> its state. Raises the first one's error."""
    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> asyncio.Future[dict[str, dict[str, Any]]]:
        """User -> {error, credential_infos: [{mechanism, iterations}]}; None: all users that have any."""
    def elect_leaders(
        self,
        election_type: ElectionType | int,
        topic_partitions: Chosen = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> asyncio.Future[ElectLeadersResponse]:
        """Elect leaders anew: {topic: [partitions]}, [topics] or None for all. Gives the response; raises the first
        error but ELECTION_NOT_NEEDED, unless `raise_errors` is False."""
    def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900000
    ) -> asyncio.Future[list[dict[str, Any]]]:
        """Transactions that are older than any may be, as dicts."""
    def get_broker_version_data(self, broker_id: int) -> asyncio.Future[BrokerVersionData]:
        """What one broker serves."""
    def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> asyncio.Future[dict[str, list[str]]]:
        """Resource type -> names of the resources that have configs (KIP-1142). Needs a broker from 4.1 on (3.7 for
        CLIENT_METRICS)."""
    def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> asyncio.Future[dict[str, Offsets]]:
        """Group -> partition -> committed offset. Groups by name, or {group: partitions} (None: all there are).

        Partitions without a committed offset that are asked for by name have offset -1. Raises the first error."""
    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> asyncio.Future[list[dict[str, Any]]]:
        """Groups as dicts, as in ListGroups; of these brokers, else of all."""
    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> asyncio.Future[dict[TopicPartition, OffsetAndTimestamp]]:
        """Look up offsets by `OffsetSpec` or by time (ms). Raises the first partition's error."""
    def list_partition_reassignments(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> asyncio.Future[dict[TopicPartition, dict[str, list[int]]]]:
        """Reassignments that are under way: of {topic: [partitions]}, [TopicPartition] or None for all."""
    def list_topics(self) -> asyncio.Future[list[str]]:
        """Names of all topics."""
    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[TransactionState | str] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> asyncio.Future[dict[int, list[TransactionListing]]]:
        """Broker -> transactions that it coordinates. `duration_filter_ms` needs a broker from 3.8 on;
        `transactional_id_pattern` (KIP-1152) is not supported and raises UnsupportedVersionError."""
    def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> asyncio.Future[dict[str, ErrorClass]]:
        """Throw members out. Member id (else instance id) -> error class, `NoError` for success."""
    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> asyncio.Future[dict[str, dict[str, str]]]:
        """Back to the defaults: the keys that a resource's `configs` name; all that were set if there are none."""
    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> asyncio.Future[dict[TopicPartition, dict[str, Any]]]:
        """Commit what `OffsetSpec`, `OffsetTimestamp` or a plain offset stand for, moved into the partition's range.

        Partition -> {error: class, offset: what was committed}."""
    def update_features(
        self, feature_updates: Mapping[str, Any], validate_only: bool = False, timeout_ms: int = 60000
    ) -> asyncio.Future[dict[str, str]]:
        """Finalize features: name -> level or (UpdateFeatureType, level). Feature -> "OK" or an error."""
    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10000) -> asyncio.Future[None]:
        """Until each topic is there with a leader for each partition. Raises KafkaTimeoutError."""

class DeferredMethods:
    def abort_transaction(self, spec: AbortTransactionSpec) -> Deferred[None]:
        """Write an abort marker into one partition. Raises its error."""
    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> Deferred[dict[str, dict[str, str]]]:
        """Set configs; a value may be `(op, value)` with an `AlterConfigOp`. Resource type -> name -> "OK" or an error.

        `incremental` None: where the broker can (from 2.3 on), else all is written anew with what was set before.
        Raises ValueError for keys that are not known, unless `raise_on_unknown` is False."""
    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> Deferred[dict[TopicPartition, ErrorClass]]:
        """Commit offsets for a group without members. Partition -> error class, `NoError` for success."""
    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int | None = None
    ) -> Deferred[dict[TopicPartition, ErrorClass | None]]:
        """Give partitions other replicas (broker ids; None: cancel). Partition -> error class, None for success."""
    def alter_replica_log_dirs(
        self, replica_assignments: Mapping[TopicPartitionReplica, str]
    ) -> Deferred[dict[TopicPartitionReplica, ErrorClass]]:
        """Move replicas to other directories of their brokers. Replica -> error class, `NoError` for success."""
    def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> Deferred[dict[str, str | None]]:
        """User -> None, or why it failed."""
    def api_versions(self) -> Deferred[dict[ApiKey | int, tuple[int, int]]]:
        """API -> lowest and highest version that a broker serves; a plain number for an API unknown here."""
    def create_acls(self, acls: Sequence[ACL]) -> Deferred[dict[str, list[Any]]]:
        """{succeeded: [ACL], failed: [error class]}."""
    def create_partitions(
        self,
        topic_partitions: Mapping[str, int | NewPartitions | Mapping[str, Any]],
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> Deferred[CreatePartitionsResponse]:
        """More partitions: topic -> the count it shall have, a `NewPartitions`, or {count, assignments}. Gives the
        response; raises the first error, unless `raise_errors` is False."""
    def create_topics(
        self,
        new_topics: NewTopics,
        timeout_ms: int | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> Deferred[dict[str, Any]]:
        """Create topics: a list of names or `NewTopic`s, or a dict of name -> {num_partitions, replication_factor,
        assignments, configs}. Gives the response as a dict. Raises the first error, unless `raise_errors` is False."""
    def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> Deferred[list[tuple[ACLFilter, list[ACL], ErrorClass]]]:
        """For each filter: it, the ACLs that were deleted, and an error class (`NoError` for success)."""
    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], group_coordinator_id: int | None = None
    ) -> Deferred[dict[TopicPartition, ErrorClass]]:
        """Forget committed offsets. Partition -> error class, `NoError` for success. Raises what concerns the group."""
    def delete_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> Deferred[dict[str, str]]:
        """Group -> "OK" or the name of an error's class."""
    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: int | None = None,
        partition_leader_id: int | None = None,
    ) -> Deferred[dict[TopicPartition, dict[str, Any]]]:
        """Delete what lies before the offsets (-1: all there is). Partition -> {partition_index, low_watermark,
        error_code}. Raises the partitions' errors. With `partition_leader_id` that broker is asked, and once."""
    def delete_topics(
        self, topics: Sequence[str | uuid.UUID], timeout_ms: int | None = None, raise_errors: bool = True
    ) -> Deferred[dict[str, Any]]:
        """Delete topics by name or id. Gives the response as a dict; raises the first error."""
    def describe_acls(self, acl_filter: ACLFilter) -> Deferred[tuple[list[ACL], ErrorClass]]:
        """The ACLs that match, and `NoError`. Raises SecurityDisabledError if the brokers have no authorizer."""
    def describe_cluster(self) -> Deferred[dict[str, Any]]:
        """cluster_id, controller_id, brokers (broker_id, host, port, rack) and authorized_operations."""
    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> Deferred[dict[str, Described]]:
        """Resource type -> name -> key -> what is known of it. A resource's `configs` name the keys; None: all.

        `config_filter`: modified (set for the resource), dynamic (may be altered), default, static or all."""
    def describe_features(self, send_request_to_controller: bool = False) -> Deferred[dict[str, dict[str, Any]]]:
        """Feature -> supported (lowest, highest), finalized (lowest, highest), finalized_epoch (KIP-584)."""
    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> Deferred[dict[str, dict[str, Any]]]:
        """Group -> description, as in DescribeGroups, members' metadata and assignment decoded. `error` is None or a
        sentence. `include_authorized_operations` has no effect: they are always asked for, as kafka-python does."""
    def describe_log_dirs(
        self, topic_partitions: Chosen = None, brokers: Iterable[int] | None = None
    ) -> Deferred[list[dict[str, Any]]]:
        """Sizes of replicas: of {topic: [partitions]}, [topics] or None for all; on these brokers, else on all."""
    def describe_metadata_quorum(self) -> Deferred[dict[str, Any]]:
        """Leader, voters and observers of the metadata log. Needs a cluster in KRaft mode."""
    def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> Deferred[dict[TopicPartition, PartitionProducerState]]:
        """Partition -> its active producers, as the leader (or the replica on `broker_id`) knows them."""
    def describe_topic_partitions(
        self, topics: Iterable[str], response_partition_limit: int = 2000, cursor: Mapping[str, Any] | None = None
    ) -> Deferred[dict[str, Any]]:
        """Partitions page by page, with eligible leader replicas (KIP-966). Needs a KRaft broker from 3.7 on."""
    def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> Deferred[list[dict[str, Any]]]:
        """Topics with their partitions, as in Metadata; None: all. A `uuid.UUID` is a topic's id (KIP-516)."""
    def describe_transactions(self, transactional_ids: Iterable[str]) -> Deferred[dict[str, TransactionDescription]]:
        """Transactional id -> its state. Raises the first one's error."""
    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> Deferred[dict[str, dict[str, Any]]]:
        """User -> {error, credential_infos: [{mechanism, iterations}]}; None: all users that have any."""
    def elect_leaders(
        self,
        election_type: ElectionType | int,
        topic_partitions: Chosen = None,
        timeout_ms: int | None = None,
        raise_errors: bool = True,
    ) -> Deferred[ElectLeadersResponse]:
        """Elect leaders anew: {topic: [partitions]}, [topics] or None for all. Gives the response; raises the first
        error but ELECTION_NOT_NEEDED, unless `raise_errors` is False."""
    def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900000
    ) -> Deferred[list[dict[str, Any]]]:
        """Transactions that are older than any may be, as dicts."""
    def get_broker_version_data(self, broker_id: int) -> Deferred[BrokerVersionData]:
        """What one broker serves."""
    def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> Deferred[dict[str, list[str]]]:
        """Resource type -> names of the resources that have configs (KIP-1142). Needs a broker from 4.1 on (3.7 for
        CLIENT_METRICS)."""
    def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> Deferred[dict[str, Offsets]]:
        """Group -> partition -> committed offset. Groups by name, or {group: partitions} (None: all there are).

        Partitions without a committed offset that are asked for by name have offset -1. Raises the first error."""
    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> Deferred[list[dict[str, Any]]]:
        """Groups as dicts, as in ListGroups; of these brokers, else of all."""
    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: IsolationLevel | str | int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> Deferred[dict[TopicPartition, OffsetAndTimestamp]]:
        """Look up offsets by `OffsetSpec` or by time (ms). Raises the first partition's error."""
    def list_partition_reassignments(
        self,
        topic_partitions: Mapping[str, Iterable[int]] | Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> Deferred[dict[TopicPartition, dict[str, list[int]]]]:
        """Reassignments that are under way: of {topic: [partitions]}, [TopicPartition] or None for all."""
    def list_topics(self) -> Deferred[list[str]]:
        """Names of all topics."""
    def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[TransactionState | str] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> Deferred[dict[int, list[TransactionListing]]]:
        """Broker -> transactions that it coordinates. `duration_filter_ms` needs a broker from 3.8 on;
        `transactional_id_pattern` (KIP-1152) is not supported and raises UnsupportedVersionError."""
    def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> Deferred[dict[str, ErrorClass]]:
        """Throw members out. Member id (else instance id) -> error class, `NoError` for success."""
    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> Deferred[dict[str, dict[str, str]]]:
        """Back to the defaults: the keys that a resource's `configs` name; all that were set if there are none."""
    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> Deferred[dict[TopicPartition, dict[str, Any]]]:
        """Commit what `OffsetSpec`, `OffsetTimestamp` or a plain offset stand for, moved into the partition's range.

        Partition -> {error: class, offset: what was committed}."""
    def update_features(
        self, feature_updates: Mapping[str, Any], validate_only: bool = False, timeout_ms: int = 60000
    ) -> Deferred[dict[str, str]]:
        """Finalize features: name -> level or (UpdateFeatureType, level). Feature -> "OK" or an error."""
    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10000) -> Deferred[None]:
        """Until each topic is there with a leader for each partition. Raises KafkaTimeoutError."""
