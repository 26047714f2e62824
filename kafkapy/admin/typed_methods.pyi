"""The core's operations as methods of the tools' client. What type checkers and editors see is the stub beside this file.

A tool needs a few operations and starts often: an operation's module, with its messages, is imported when it is first asked
for."""

from collections.abc import Iterable, Mapping, Sequence

from kafkapy.admin.cluster import ClusterDescription
from kafkapy.admin.configs import ConfigChange, ConfigEntry
from kafkapy.admin.group_offsets import Offsets
from kafkapy.admin.groups import GroupDescription, GroupListing
from kafkapy.admin.quotas import QuotaEntity, QuotaFilter
from kafkapy.admin.replicas import LogDirDescription, PartitionReassignment, ReplicaLogDirInfo, Replicas
from kafkapy.admin.results import Results
from kafkapy.admin.topics import CreatedTopic, NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource, MemberToRemove, ScramMechanism
from kafkapy.admin.users import Alterations
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.metadata import Node, TopicMetadata
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import IsolationLevel, OffsetAndMetadata, OffsetAndTimestamp, TopicPartitionReplica

class TypedMethods:
    def alter_client_quotas(
        self, entity: QuotaEntity, quotas: Mapping[str, float | None], timeout_ms: int | None = None
    ) -> None:
        """Set these quotas of one entity; None removes."""
    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        """Replace all dynamic configs of each resource by those given."""
    def alter_group_offsets(
        self, group_id: str, offsets: Offsets, timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Commit these offsets for a group that has no members. Raises what concerns the group as a whole."""
    def alter_partition_reassignments(
        self, reassignments: Replicas, timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Start to move partitions to these brokers; None: give up a move that is under way (KIP-455)."""
    def alter_replica_log_dirs(
        self, assignment: Mapping[TopicPartitionReplica, str], timeout_ms: int | None = None
    ) -> Results[TopicPartitionReplica, None]:
        """Move replicas to other directories of their brokers. REPLICA_NOT_AVAILABLE: not there yet; the broker will
        create it in this directory."""
    def alter_user_scram_credentials(
        self, alterations: Alterations, timeout_ms: int | None = None
    ) -> Results[str, None]: ...
    def api_versions(self) -> dict[Node, NodeApiVersions | KafkaError]:
        """What each live broker serves."""
    def create_partitions(
        self, new_partitions: Mapping[str, NewPartitions], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, None]: ...
    def create_topics(
        self, new_topics: Iterable[NewTopic], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, CreatedTopic]:
        """An assignment stands for the counts: they are left out then."""
    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Raises what concerns the group as a whole (GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP ...)."""
    def delete_groups(self, group_ids: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]: ...
    def delete_records(
        self, offsets: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> Results[TopicPartition, int]:
        """Delete what lies before these offsets (-1: before the high watermark); the new log start offsets."""
    def delete_topics(self, topics: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]: ...
    def describe_client_quotas(
        self, filters: Iterable[QuotaFilter], strict: bool = True, timeout_ms: int | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """`strict`: only entities that have exactly the types of the filters."""
    def describe_cluster(self) -> ClusterDescription: ...
    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, list[ConfigEntry]]: ...
    def describe_groups(
        self, group_ids: Iterable[str], timeout_ms: int | None = None
    ) -> Results[str, GroupDescription]: ...
    def describe_log_dirs(
        self, broker_ids: Iterable[int], timeout_ms: int | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """Broker id -> path -> what lies there."""
    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], timeout_ms: int | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Where these replicas lie; what lies in a directory that has failed is not seen."""
    def describe_topic_ids(self, topic_ids: Iterable[bytes]) -> Results[bytes, TopicMetadata]:
        """Topics by id (brokers from 3.1 on): UNKNOWN_TOPIC_ID for one that does not exist."""
    def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicMetadata]:
        """Topics by name. A topic that does not exist is not asked for again: UNKNOWN_TOPIC_OR_PARTITION."""
    def describe_user_scram_credentials(
        self, users: Iterable[str] = (), timeout_ms: int | None = None
    ) -> Results[str, list[tuple[ScramMechanism, int]]]:
        """User -> mechanism and iterations; of all users if none is named."""
    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, None]:
        """Elect leaders of these partitions, or of all that can do with an election. ELECTION_NOT_NEEDED: all is well."""
    def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]: ...
    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Committed offsets, of these partitions (None where there is none) or all that the group has. A partition with
        an error is left out, as Kafka does."""
    def list_groups(
        self, states: Iterable[str] = (), types: Iterable[str] = (), timeout_ms: int | None = None
    ) -> list[GroupListing]:
        """All groups of all brokers, in order of their ids; only those in these states and of these types, if given."""
    def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        isolation_level: int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        """The first offset whose timestamp is at least the one given (ms), or what an `OffsetSpec` stands for."""
    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, timeout_ms: int | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The reassignments that are under way, of these partitions or of all."""
    def list_topics(self, list_internal: bool = True) -> dict[str, TopicMetadata]:
        """All topics that the client may see, in order of their names."""
    def remove_group_members(
        self,
        group_id: str,
        members: Sequence[MemberToRemove] | None = None,
        reason: str | None = None,
        timeout_ms: int | None = None,
    ) -> Results[MemberToRemove, None]:
        """Throw these members out of the group; None: all it has. Raises what concerns the group as a whole."""
