"""Creates, extends and deletes topics in ZooKeeper (the topic half of Kafka's `ZkAdminManager` and `AdminZkClient`).

Every method blocks on ZooKeeper: it is called in the background pool. The controller watches the znodes and carries
out the change; callers that need completion wait for the metadata cache.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kafkapy.common import uuid
from kafkapy.common.config_def import ConfigException
from kafkapy.common.metadata_version import is_topic_id_supported
from kafkapy.common.replica_assignment import ReplicaAssignment, TopicIdReplicaAssignment
from kafkapy.common.topic_names import metric_name, reason_invalid
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log_config import check_topic_configs
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.runtime.chunks import chunks
from kafkapy.server.admin.replica_placement import assign_replicas_to_brokers
from kafkapy.server.api_error import NO_ERROR, ApiError
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.policies import CreateTopicPolicy, RequestedTopic
from kafkapy.zk.errors import ControllerMovedError, NodeExistsError, ZooKeeperClientTimeoutError
from kafkapy.zk.kafka_zk_client import KafkaZkClient, TopicToCreate

log = logging.getLogger("kafkapy.server.ZkAdminManager")

R = TypeVar("R")

CreatableTopic = CreateTopicsRequest.CreatableTopic
CreatePartitionsTopic = CreatePartitionsRequest.CreatePartitionsTopic

NO_NUM_PARTITIONS = -1
NO_REPLICATION_FACTOR = -1


@dataclass(frozen=True, slots=True)
class TopicChange:
    """The result for one topic of a request; with `error` NONE the topic has these partitions (or would have:
    `validate_only`)."""

    topic: str
    error: ApiError = NO_ERROR
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)
    topic_id: bytes = ZERO_UUID

    @property
    def succeeded(self) -> bool:
        return self.error == NO_ERROR


CountPartitions = Callable[[int], object]
"""Called with the number of partitions before they are created; raises KafkaError to refuse them."""


def _unlimited(partitions: int) -> None:
    pass


class ZkAdminManager:
    """Safe to use from several threads: it holds no state."""

    def __init__(
        self, config: KafkaConfig, zk_client: KafkaZkClient, create_topic_policy: CreateTopicPolicy | None = None
    ) -> None:
        self._config = config
        self._zk_client = zk_client
        self._create_topic_policy = create_topic_policy

    def with_time_limit(self, timeout_ms: int, work: Callable[[], R]) -> R:
        """Do the work; if ZooKeeper is disconnected, wait at most `timeout_ms` for it. Unfinished parts fail with
        REQUEST_TIMED_OUT."""
        with self._zk_client.time_limit(timeout_ms):
            return work()

    # ------------------------------------------------------------------------------------------------ create

    def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        brokers: Mapping[int, str | None],
        validate_only: bool = False,
        count: CountPartitions = _unlimited,
    ) -> list[TopicChange]:
        """Create the topics on the live `brokers` (id → rack). The errors are in the results; nothing is raised.

        All valid topics are written together, without duplicates. Before, `count` is called with each topic's number
        of partitions.
        """
        wanted = {topic.name: topic for topic in topics}
        try:
            taken = _TakenNames(self._zk_client, wanted)
        except Exception as error:
            return [_refused(topic, error) for topic in wanted.values()]
        changes: dict[str, TopicChange] = {}
        for topic in wanted.values():
            changes[topic.name] = change = self._planned(topic, brokers, taken, _unlimited if validate_only else count)
            if change.succeeded and not validate_only:
                taken.take(topic.name)
        if not validate_only:
            planned = [change for change in changes.values() if change.succeeded]
            changes.update((change.topic, change) for change in self._write(planned, wanted))
        return list(changes.values())

    def _planned(
        self, topic: CreatableTopic, brokers: Mapping[int, str | None], taken: _TakenNames, count: CountPartitions
    ) -> TopicChange:
        """Return the change to write, or the error."""
        try:
            configs = _configs(topic)
            assignment = self._assignment(topic, brokers)
            if reason := reason_invalid(topic.name):
                raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, reason)
            taken.check(topic.name)
            _validate_assignment(assignment)
            config = self._config
            check_topic_configs(configs, config.log_config_defaults(), config.remote_log_storage_system_enable)
            self._validate_policy(topic, assignment, configs)
            count(len(assignment))
        except Exception as error:
            return _refused(topic, error)
        return TopicChange(topic.name, assignment=assignment, configs=configs)

    def _validate_policy(
        self, topic: CreatableTopic, assignment: Mapping[int, Sequence[int]], configs: Mapping[str, str]
    ) -> None:
        """Raise the policy's exception, if any."""
        policy = self._create_topic_policy
        if policy is None:
            return
        if topic.assignments:
            policy.validate(RequestedTopic(topic.name, None, None, assignment, configs))
        else:
            policy.validate(RequestedTopic(topic.name, len(assignment), len(assignment[0]), None, configs))

    def _write(self, planned: list[TopicChange], wanted: Mapping[str, CreatableTopic]) -> list[TopicChange]:
        """Write the topics' configs, and then the znodes that the controller watches."""
        if not planned:
            return []
        with_ids = is_topic_id_supported(self._config.inter_broker_protocol_version)
        new = [
            TopicToCreate(change.topic, uuid.random_uuid() if with_ids else None, change.assignment, change.configs)
            for change in planned
        ]
        for topic in new:
            log.info(
                "Creating topic %s with configuration %s and initial partition assignment %s",
                topic.topic,
                topic.configs,
                topic.assignment,
            )
        outcomes: Sequence[Exception | None]
        try:
            outcomes = self._zk_client.create_topics(new)
        except Exception as error:
            outcomes = [error] * len(new)
        return [
            replace(change, topic_id=topic.topic_id or ZERO_UUID)
            if outcome is None
            else _refused(
                wanted[change.topic], _already_exists(change.topic) if isinstance(outcome, NodeExistsError) else outcome
            )
            for change, topic, outcome in zip(planned, new, outcomes, strict=True)
        ]

    def _assignment(self, topic: CreatableTopic, brokers: Mapping[int, str | None]) -> dict[int, list[int]]:
        counts_given = topic.num_partitions != NO_NUM_PARTITIONS or topic.replication_factor != NO_REPLICATION_FACTOR
        if topic.assignments:
            if counts_given:
                raise KafkaError(
                    Errors.INVALID_REQUEST,
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time.",
                )
            # As in Kafka, nonexistent brokers are accepted here.
            return {given.partition_index: list(given.broker_ids) for given in topic.assignments}
        num_partitions, replication_factor = topic.num_partitions, topic.replication_factor
        if num_partitions == NO_NUM_PARTITIONS:
            num_partitions = self._config.num_partitions
        if replication_factor == NO_REPLICATION_FACTOR:
            replication_factor = self._config.default_replication_factor
        return assign_replicas_to_brokers(brokers, num_partitions, replication_factor)

    # ------------------------------------------------------------------------------------------------ delete

    def delete_topics(self, topics: Iterable[str]) -> dict[str, Errors]:
        """Ask the controller to delete each topic; also NONE if the deletion was requested before."""
        names = list(topics)
        try:
            existing, marked = self._zk_client.look_for_topics(names)
            failed = self._zk_client.create_delete_topic_paths([n for n in names if n in existing and n not in marked])
        except ZooKeeperClientTimeoutError:
            return dict.fromkeys(names, Errors.REQUEST_TIMED_OUT)
        except Exception:
            log.exception("Error processing delete topic request for topics %s", names)
            return dict.fromkeys(names, Errors.UNKNOWN_SERVER_ERROR)
        for topic, error in failed.items():
            log.error("Error processing delete topic request for topic %s: %s", topic, error)
        outcomes = dict.fromkeys(names, Errors.NONE)
        outcomes.update((name, Errors.UNKNOWN_TOPIC_OR_PARTITION) for name in names if name not in existing)
        return outcomes | dict.fromkeys(failed, Errors.UNKNOWN_SERVER_ERROR)

    # ------------------------------------------------------------------------------------------------ grow

    def create_partitions(
        self,
        topics: Iterable[CreatePartitionsTopic],
        validate_only: bool = False,
        count: CountPartitions = _unlimited,
    ) -> list[TopicChange]:
        """Add partitions to topics; a result's `assignment` includes the old ones. Before, `count` is called with the
        number of new ones."""
        if validate_only:
            count = _unlimited
        topics = list(topics)
        try:
            brokers = self._live_brokers()
        except ZooKeeperClientTimeoutError as error:
            return [TopicChange(topic.name, ApiError.from_exception(error)) for topic in topics]
        return [
            change for chunk in chunks(topics) for change in self._grow_together(chunk, brokers, validate_only, count)
        ]

    def _live_brokers(self) -> dict[int, str | None]:
        brokers = {b.id: b.rack for b in sorted(self._zk_client.get_all_brokers_in_cluster(), key=lambda b: b.id)}
        if len({rack is None for rack in brokers.values()}) > 1:
            raise KafkaError(
                Errors.UNKNOWN_SERVER_ERROR,
                "Not all brokers have rack information. Add --disable-rack-aware in command line "
                "to make replica assignment without rack information.",
            )
        return brokers

    def _grow_together(
        self,
        requests: Sequence[CreatePartitionsTopic],
        brokers: Mapping[int, str | None],
        validate_only: bool,
        count: CountPartitions,
    ) -> list[TopicChange]:
        """The topics are read in one pipeline, which is much faster than one by one."""
        try:
            found = self._zk_client.get_replica_assignment_and_topic_id_for_topics([topic.name for topic in requests])
        except Exception as error:
            if isinstance(error, ZooKeeperClientTimeoutError) or len(requests) == 1:
                return [_not_grown(request, error) for request in requests]
            # One name may be an invalid path: only that topic gets the error.
            return [change for one in requests for change in self._grow_together([one], brokers, validate_only, count)]
        there = {topic.topic: topic for topic in found}
        return [self._try_grow(request, there.get(request.name), brokers, validate_only, count) for request in requests]

    def _try_grow(
        self,
        request: CreatePartitionsTopic,
        found: TopicIdReplicaAssignment | None,
        brokers: Mapping[int, str | None],
        validate_only: bool,
        count: CountPartitions,
    ) -> TopicChange:
        try:
            return self._grow(request, found, brokers, validate_only, count)
        except Exception as error:
            return _not_grown(request, error)

    def _grow(
        self,
        request: CreatePartitionsTopic,
        found: TopicIdReplicaAssignment | None,
        brokers: Mapping[int, str | None],
        validate_only: bool,
        count: CountPartitions,
    ) -> TopicChange:
        topic = request.name
        if found is None or not found.assignment:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
        existing, topic_id = found.assignment, found.topic_id
        if any(assignment.is_being_reassigned for assignment in existing.values()):
            raise KafkaError(
                Errors.REASSIGNMENT_IN_PROGRESS, f"A partition reassignment is in progress for the topic '{topic}'."
            )
        new = _new_partitions(request, existing, brokers)
        count(len(new))
        combined = existing | {partition: ReplicaAssignment(tuple(replicas)) for partition, replicas in new.items()}
        if not validate_only:
            log.info("Creating %d partitions for '%s' with the replica assignment %s", len(new), topic, new)
            self._zk_client.set_topic_assignment(topic, topic_id, combined)
        return TopicChange(topic, assignment={partition: a.replicas for partition, a in combined.items()})


def _not_grown(request: CreatePartitionsTopic, error: Exception) -> TopicChange:
    if not isinstance(error, KafkaError | ZooKeeperClientTimeoutError):
        log.error("Error processing create partitions request %r", request, exc_info=error)
    return TopicChange(request.name, ApiError.from_exception(error))


class _TakenNames:
    """The names that are not free for a request's new topics: those in ZooKeeper, and those created by the request
    itself."""

    def __init__(self, zk_client: KafkaZkClient, names: Iterable[str]) -> None:
        legal = [name for name in names if not reason_invalid(name)]
        self._existing, self._marked = zk_client.look_for_topics(legal)
        self._with_same_metrics: dict[str, list[str]] = {}
        if any("." in name or "_" in name for name in legal):
            for topic in zk_client.get_all_topics_in_cluster():
                self._with_same_metrics.setdefault(metric_name(topic), []).append(topic)

    def check(self, topic: str) -> None:
        """Raise `KafkaError` if the name is not free."""
        if topic in self._marked:
            raise KafkaError(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' is marked for deletion.")
        colliding = self._with_same_metrics.get(metric_name(topic), ())
        if topic in self._existing or topic in colliding:
            raise _already_exists(topic)
        if colliding:
            raise KafkaError(
                Errors.INVALID_TOPIC_EXCEPTION,
                f"Topic '{topic}' collides with existing topics: {', '.join(sorted(colliding))}",
            )

    def take(self, topic: str) -> None:
        self._with_same_metrics.setdefault(metric_name(topic), []).append(topic)


def _refused(topic: CreatableTopic, error: Exception) -> TopicChange:
    if isinstance(error, KafkaError | ConfigException | ControllerMovedError | ZooKeeperClientTimeoutError):
        level = logging.INFO
        if isinstance(error, KafkaError) and error.error is Errors.TOPIC_ALREADY_EXISTS:
            level = logging.DEBUG
        log.log(level, "Error processing create topic request %r: %s", topic, error)
    else:
        log.error("Error processing create topic request %r", topic, exc_info=error)
    if isinstance(error, ConfigException):
        return TopicChange(topic.name, ApiError(Errors.INVALID_CONFIG, str(error)))
    return TopicChange(topic.name, ApiError.from_exception(error))


def _already_exists(topic: str) -> KafkaError:
    return KafkaError(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")


def _configs(topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise KafkaError(Errors.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    for config in topic.configs:
        assert config.value is not None
        configs[config.name] = config.value
    return configs


def _validate_assignment(assignment: Mapping[int, Sequence[int]]) -> None:
    def refuse(reason: str) -> KafkaError:
        return KafkaError(Errors.INVALID_REPLICA_ASSIGNMENT, reason)

    if len({len(replicas) for replicas in assignment.values()}) != 1:
        raise refuse("All partitions should have the same number of replicas")
    if any(len(replicas) != len(set(replicas)) for replicas in assignment.values()):
        shown = ", ".join(f"{p} -> ArrayBuffer({', '.join(map(str, r))})" for p, r in assignment.items())
        raise refuse(f"Duplicate replica assignment found: HashMap({shown})")
    if sorted(assignment) != list(range(len(assignment))):
        raise refuse("partitions should be a consecutive 0-based integer sequence")


def _new_partitions(
    request: CreatePartitionsTopic, existing: Mapping[int, ReplicaAssignment], brokers: Mapping[int, str | None]
) -> Mapping[int, Sequence[int]]:
    """Return partition → brokers of the partitions that the request adds."""
    increment = request.count - len(existing)
    if increment < 0:
        raise KafkaError(
            Errors.INVALID_PARTITIONS,
            f"Topic currently has {len(existing)} partitions, which is higher than the requested {request.count}.",
        )
    if increment == 0:
        raise KafkaError(Errors.INVALID_PARTITIONS, f"Topic already has {len(existing)} partitions.")
    if 0 not in existing:
        raise KafkaError(
            Errors.UNKNOWN_SERVER_ERROR,
            f"Unexpected existing replica assignment for topic '{request.name}', partition id 0 is missing.",
        )
    first = existing[0].replicas
    if request.assignments is None:
        at_first_leader = (index for index, broker in enumerate(brokers) if broker >= first[0])
        return assign_replicas_to_brokers(brokers, increment, len(first), next(at_first_leader, 0), len(existing))
    given = [list(assignment.broker_ids) for assignment in request.assignments]
    _validate_given_replicas(given, increment, len(existing), len(first), brokers)
    return dict(enumerate(given, len(existing)))


def _validate_given_replicas(
    given: Sequence[Sequence[int]], increment: int, first_new: int, replication_factor: int, brokers: Container[int]
) -> None:
    def refuse(reason: str) -> KafkaError:
        return KafkaError(Errors.INVALID_REPLICA_ASSIGNMENT, reason)

    unknown = dict.fromkeys(broker for replicas in given for broker in replicas if broker not in brokers)
    if unknown:
        raise refuse(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    if len(given) != increment:
        raise refuse(f"Increasing the number of partitions by {increment} but {len(given)} assignments provided.")
    for partition, replicas in enumerate(given, first_new):
        if not replicas:
            raise refuse(f"Cannot have replication factor of 0 for partition id {partition}.")
        if len(replicas) != len(set(replicas)):
            shown = ", ".join(map(str, replicas))
            raise refuse(f"Duplicate brokers not allowed in replica assignment: {shown} for partition id {partition}.")
    differing = {p: len(replicas) for p, replicas in enumerate(given, first_new) if len(replicas) != replication_factor}
    if differing:
        raise refuse(
            f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} "
            f"while partitions [{', '.join(map(str, differing))}] have replication factors "
            f"[{', '.join(map(str, differing.values()))}], respectively."
        )
