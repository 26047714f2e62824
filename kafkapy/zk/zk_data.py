"""Path, encoding and decoding of every znode (Kafka's `ZkData`). Pure: no connection, no clock.

Payloads are compact JSON in UTF-8. They are written as Kafka 3.9 does. All older versions can be read, unknown keys are
ignored, the order does not matter; anything else raises `ValueError` (or `KeyError` for a missing key).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from kafkapy.common import uuid
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from kafkapy.common.replica_assignment import ReplicaAssignment, TopicIdReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition

PERSISTENT_PATHS = (
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/admin/delete_topics",
    "/brokers/seqid",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)
"""Created at every broker start if missing, in Kafka's order."""


def encode_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_json(data: bytes | None) -> dict[str, Any]:
    """Return the JSON object in `data`; `ValueError` if it is not one."""
    value = json.loads(data or b"")
    if not isinstance(value, dict):
        raise ValueError(f"A JSON object is expected, not {data!r}")
    return value


def sequence_number(name: str) -> str:
    """Return the ten digits that ZooKeeper appended to a sequential node's prefix."""
    return name[-10:]


class ControllerZNode:
    path = "/controller"

    @staticmethod
    def encode(broker_id: int, timestamp_ms: int, kraft_controller_epoch: int = -1) -> bytes:
        return encode_json(
            {
                "version": 2,
                "brokerid": broker_id,
                "timestamp": str(timestamp_ms),
                "kraftControllerEpoch": kraft_controller_epoch,
            }
        )

    @staticmethod
    def decode(data: bytes | None) -> int:
        """Return the controller's broker id; the oldest brokers wrote it as bare text."""
        value = json.loads(data or b"")
        return int(value["brokerid"] if isinstance(value, dict) else value)

    @staticmethod
    def decode_kraft_epoch(data: bytes | None) -> int:
        """Return the epoch of a KRaft controller that owns the node during a migration, else -1."""
        value = json.loads(data or b"")
        return int(value.get("kraftControllerEpoch", -1)) if isinstance(value, dict) else -1


class ControllerEpochZNode:
    path = "/controller_epoch"
    initial_epoch = 0

    @staticmethod
    def encode(epoch: int) -> bytes:
        return str(epoch).encode()

    @staticmethod
    def decode(data: bytes | None) -> int:
        return int(data or b"")


class ClusterIdZNode:
    path = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        return encode_json({"version": "1", "id": cluster_id})

    @staticmethod
    def decode(data: bytes | None) -> str:
        return str(decode_json(data)["id"])


class BrokersZNode:
    path = "/brokers"
    ids_path = "/brokers/ids"
    topics_path = "/brokers/topics"


class BrokerInfo(NamedTuple):
    """A broker's registration: itself, the version of the JSON (`metadata_version.broker_registration_version`) and its
    JMX port.
    """

    broker: Broker
    version: int = 5
    jmx_port: int = -1


class BrokerIdZNode:
    @staticmethod
    def path(broker_id: int) -> str:
        return f"/brokers/ids/{broker_id}"

    @staticmethod
    def encode(info: BrokerInfo, timestamp_ms: int) -> bytes:
        """`host` and `port` are the first PLAINTEXT listener's, for the oldest readers."""
        broker = info.broker
        plaintext = next((e for e in broker.end_points if e.security_protocol == "PLAINTEXT"), None)
        value: dict[str, Any] = {
            "version": info.version,
            "host": plaintext.host if plaintext else None,
            "port": plaintext.port if plaintext else -1,
            "jmx_port": info.jmx_port,
            "timestamp": str(timestamp_ms),
            "endpoints": [e.connection_string for e in broker.end_points],
        }
        if broker.rack is not None and info.version >= 3:
            value["rack"] = broker.rack
        if info.version >= 4:
            value["listener_security_protocol_map"] = {e.listener_name: e.security_protocol for e in broker.end_points}
        if info.version >= 5:
            value["features"] = {
                name: {"min_version": low, "max_version": high} for name, (low, high) in broker.features.items()
            }
        return encode_json(value)

    @staticmethod
    def decode(broker_id: int, data: bytes | None) -> BrokerInfo:
        value = decode_json(data)
        version = int(value["version"])
        if version < 1:
            raise ValueError(f"Unsupported version {version} of the registration of broker {broker_id}")
        if version == 1:
            end_points: tuple[EndPoint, ...] = (EndPoint(value["host"], int(value["port"]), "PLAINTEXT", "PLAINTEXT"),)
        else:
            protocols = value.get("listener_security_protocol_map") or {}
            end_points = tuple(_parse_end_point(text, protocols) for text in value["endpoints"])
        features = {
            name: (int(versions["min_version"]), int(versions["max_version"]))
            for name, versions in (value.get("features") or {}).items()
        }
        broker = Broker(broker_id, end_points, value.get("rack"), features)
        return BrokerInfo(broker, version, int(value.get("jmx_port", -1)))


def _parse_end_point(text: str, protocols: Mapping[str, str]) -> EndPoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return EndPoint(host.strip("[]") or None, int(port), listener, protocols.get(listener, listener))


class BrokerSequenceIdZNode:
    path = "/brokers/seqid"


class TopicZNode:
    @staticmethod
    def path(topic: str) -> str:
        return f"/brokers/topics/{topic}"

    @staticmethod
    def encode(topic_id: bytes | None, assignment: Mapping[int, ReplicaAssignment]) -> bytes:
        value: dict[str, Any] = {
            "version": 3,
            "partitions": {str(p): list(a.replicas) for p, a in assignment.items()},
            "adding_replicas": {str(p): list(a.adding_replicas) for p, a in assignment.items() if a.adding_replicas},
            "removing_replicas": {
                str(p): list(a.removing_replicas) for p, a in assignment.items() if a.removing_replicas
            },
        }
        if topic_id is not None:
            value["topic_id"] = uuid.to_string(topic_id)
        return encode_json(value)

    @staticmethod
    def decode(topic: str, data: bytes | None) -> TopicIdReplicaAssignment:
        value = decode_json(data)
        adding, removing = value.get("adding_replicas") or {}, value.get("removing_replicas") or {}
        assignment = {
            int(p): ReplicaAssignment(tuple(replicas), tuple(adding.get(p, ())), tuple(removing.get(p, ())))
            for p, replicas in value["partitions"].items()
        }
        topic_id = value.get("topic_id")
        return TopicIdReplicaAssignment(topic, uuid.from_string(topic_id) if topic_id else None, assignment)


class TopicPartitionsZNode:
    @staticmethod
    def path(topic: str) -> str:
        return f"/brokers/topics/{topic}/partitions"


class TopicPartitionZNode:
    @staticmethod
    def path(partition: TopicPartition) -> str:
        return f"/brokers/topics/{partition.topic}/partitions/{partition.partition}"


class TopicPartitionStateZNode:
    @staticmethod
    def path(partition: TopicPartition) -> str:
        return f"/brokers/topics/{partition.topic}/partitions/{partition.partition}/state"

    @staticmethod
    def encode(state: LeaderIsrAndControllerEpoch) -> bytes:
        leader_and_isr = state.leader_and_isr
        value: dict[str, Any] = {
            "version": 1,
            "leader": leader_and_isr.leader,
            "leader_epoch": leader_and_isr.leader_epoch,
            "controller_epoch": state.controller_epoch,
            "isr": list(leader_and_isr.isr),
        }
        if leader_and_isr.leader_recovery_state != LeaderRecoveryState.RECOVERED:
            value["leader_recovery_state"] = int(leader_and_isr.leader_recovery_state)
        return encode_json(value)

    @staticmethod
    def decode(data: bytes | None, zk_version: int) -> LeaderIsrAndControllerEpoch:
        """`zk_version` of the node becomes the partition epoch."""
        value = decode_json(data)
        leader_and_isr = LeaderAndIsr(
            leader=int(value["leader"]),
            isr=tuple(value["isr"]),
            leader_epoch=int(value["leader_epoch"]),
            leader_recovery_state=LeaderRecoveryState(value.get("leader_recovery_state", 0)),
            partition_epoch=zk_version,
        )
        return LeaderIsrAndControllerEpoch(leader_and_isr, int(value["controller_epoch"]))


class ConfigEntityTypeZNode:
    @staticmethod
    def path(entity_type: str) -> str:
        return f"/config/{entity_type}"


class ConfigEntityZNode:
    @staticmethod
    def path(entity_type: str, sanitized_entity_name: str) -> str:
        return f"/config/{entity_type}/{sanitized_entity_name}"

    @staticmethod
    def encode(config: Mapping[str, str]) -> bytes:
        return encode_json({"version": 1, "config": dict(config)})

    @staticmethod
    def decode(data: bytes | None) -> dict[str, str]:
        """A node without data, or with an older kind of data, has no overrides."""
        if not data:
            return {}
        value = decode_json(data)
        if value.get("version") != 1:
            raise ValueError(f"Unexpected version {value.get('version')} of a config")
        config = value.get("config")
        if not isinstance(config, dict):
            raise ValueError(f"A config must be a JSON object, not {config!r}")
        return {str(key): str(text) for key, text in config.items()}


class ConfigEntityChangeNotificationZNode:
    path = "/config/changes"
    sequence_prefix = "config_change_"

    @staticmethod
    def create_path() -> str:
        return "/config/changes/config_change_"

    @staticmethod
    def path_of(name: str) -> str:
        return f"/config/changes/{name}"

    @staticmethod
    def encode(sanitized_entity_path: str) -> bytes:
        return encode_json({"version": 2, "entity_path": sanitized_entity_path})

    @staticmethod
    def decode(data: bytes | None) -> str:
        """Return the entity's path below /config, sanitized: "topics/t", "users/alice/clients/<default>"."""
        value = decode_json(data)
        version = value.get("version")
        if version == 1:
            return f"{value['entity_type']}/{value['entity_name']}"
        if version == 2:
            return str(value["entity_path"])
        raise ValueError(f"Config change notification has version {version}; 1 and 2 are known")


class _NotificationZNode:
    """The parent of sequential nodes."""

    path: ClassVar[str]
    sequence_prefix: ClassVar[str]

    @classmethod
    def create_path(cls) -> str:
        return cls.path_of("")

    @classmethod
    def path_of(cls, sequence: str) -> str:
        return f"{cls.path}/{cls.sequence_prefix}{sequence}"


class IsrChangeNotificationZNode(_NotificationZNode):
    path = "/isr_change_notification"
    sequence_prefix = "isr_change_"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return encode_json({"version": 1, "partitions": [_partition_json(p) for p in partitions]})

    @staticmethod
    def decode(data: bytes | None) -> list[TopicPartition]:
        return [TopicPartition(str(p["topic"]), int(p["partition"])) for p in decode_json(data)["partitions"]]


class LogDirEventNotificationZNode(_NotificationZNode):
    path = "/log_dir_event_notification"
    sequence_prefix = "log_dir_event_"
    log_dir_failure_event = 1

    @staticmethod
    def encode(broker_id: int) -> bytes:
        event = LogDirEventNotificationZNode.log_dir_failure_event
        return encode_json({"version": 1, "broker": broker_id, "event": event})

    @staticmethod
    def decode(data: bytes | None) -> int:
        """Return the id of the broker whose log directory failed."""
        return int(decode_json(data)["broker"])


class DeleteTopicsZNode:
    path = "/admin/delete_topics"


class DeleteTopicsTopicZNode:
    @staticmethod
    def path(topic: str) -> str:
        return f"/admin/delete_topics/{topic}"


class ReassignPartitionsZNode:
    """A reassignment requested by old tools; AlterPartitionReassignments doesn't use it."""

    path = "/admin/reassign_partitions"

    @staticmethod
    def encode(reassignment: Mapping[TopicPartition, Iterable[int]]) -> bytes:
        partitions = [{**_partition_json(p), "replicas": list(replicas)} for p, replicas in reassignment.items()]
        return encode_json({"version": 1, "partitions": partitions})

    @staticmethod
    def decode(data: bytes | None) -> dict[TopicPartition, list[int]]:
        return {
            TopicPartition(str(p["topic"]), int(p["partition"])): [int(r) for r in p["replicas"]]
            for p in decode_json(data)["partitions"]
        }


class ConsumerOffsetZNode:
    """An offset that a consumer of Kafka 0.8 committed (OffsetCommit v0)."""

    @staticmethod
    def path(group: str, partition: TopicPartition) -> str:
        return f"/consumers/{group}/offsets/{partition.topic}/{partition.partition}"

    @staticmethod
    def encode(offset: int) -> bytes:
        return str(offset).encode()

    @staticmethod
    def decode(data: bytes | None) -> int | None:
        return None if data is None else int(data)


class PreferredReplicaElectionZNode:
    """A preferred leader election requested by old tools; ElectLeaders doesn't use it."""

    path = "/admin/preferred_replica_election"

    encode = IsrChangeNotificationZNode.encode

    @staticmethod
    def decode(data: bytes | None) -> set[TopicPartition]:
        return set(IsrChangeNotificationZNode.decode(data))


class ProducerIdsBlock(NamedTuple):
    """Producer ids `first_producer_id` to `last_producer_id` (both included), assigned to one broker."""

    broker_id: int
    first_producer_id: int
    size: int

    @property
    def last_producer_id(self) -> int:
        return self.first_producer_id + self.size - 1


class ProducerIdBlockZNode:
    path = "/latest_producer_id_block"

    @staticmethod
    def encode(block: ProducerIdsBlock) -> bytes:
        return encode_json(
            {
                "version": 1,
                "broker": block.broker_id,
                "block_start": str(block.first_producer_id),
                "block_end": str(block.last_producer_id),
            }
        )

    @staticmethod
    def decode(data: bytes | None) -> ProducerIdsBlock:
        value = decode_json(data)
        first, last = int(value["block_start"]), int(value["block_end"])
        return ProducerIdsBlock(int(value["broker"]), first, last - first + 1)


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """The content of /feature (KIP-584): whether versioning is on, each feature's finalized level, the version of the JSON."""

    enabled: bool
    levels: dict[str, int] = field(default_factory=dict)
    version: int = 2


class FeatureZNode:
    path = "/feature"

    @staticmethod
    def encode(features: FinalizedFeatures) -> bytes:
        """Version 1 is for clusters whose inter-broker protocol is below 3.3."""
        levels = {name: {"max_version_level": level} for name, level in features.levels.items()}
        if features.version == 1:
            for level in levels.values():
                level["min_version_level"] = level["max_version_level"]
        return encode_json({"version": features.version, "status": int(features.enabled), "features": levels})

    @staticmethod
    def decode(data: bytes | None) -> FinalizedFeatures:
        value = decode_json(data)
        version, status = value.get("version"), value.get("status")
        if version not in (1, 2):
            raise ValueError(f"Unsupported version {version} of feature information")
        if status not in (0, 1):
            raise ValueError(f"Malformed status {status!r} in feature information")
        features = value["features"]
        if not all(isinstance(of_feature, dict) for of_feature in features.values()):
            raise ValueError(f"Malformed levels in feature information: {features}")
        levels = {name: int(of_feature["max_version_level"]) for name, of_feature in features.items()}
        return FinalizedFeatures(status == 1, levels, version)


def _partition_json(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}
