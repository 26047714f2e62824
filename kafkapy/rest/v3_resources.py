"""Builds REST Proxy v3's resources: objects with `kind`, `metadata` (their URL) and links to others. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote


class V3Resources:
    """`base`: URL of the cluster, `…/v3/clusters/{id}`."""

    def __init__(self, base: str, cluster_id: str) -> None:
        self.base = base
        self.cluster_id = cluster_id

    def url(self, *parts: object) -> str:
        return self.base + "".join(f"/{quote(str(part), safe='')}" for part in parts)

    def resource(self, kind: str, where: tuple[object, ...], **fields: Any) -> dict[str, Any]:
        name = f"crn:///kafka={self.cluster_id}" + "".join(
            f"/{key}={value}" for key, value in zip(where[::2], where[1::2], strict=False)
        )
        metadata = {"self": self.url(*where), "resource_name": name}
        return {"kind": kind, "metadata": metadata, "cluster_id": self.cluster_id, **fields}

    def listed(self, kind: str, where: tuple[object, ...], items: Iterable[dict[str, Any]]) -> dict[str, Any]:
        return {"kind": f"{kind}List", "metadata": {"self": self.url(*where), "next": None}, "data": list(items)}

    def link(self, *parts: object) -> dict[str, str]:
        return {"related": self.url(*parts)}

    def cluster(self, controller: int | None) -> dict[str, Any]:
        return self.resource(
            "KafkaCluster",
            (),
            controller=None if controller is None else self.link("brokers", controller),
            acls=self.link("acls"),
            brokers=self.link("brokers"),
            broker_configs=self.link("broker-configs"),
            consumer_groups=self.link("consumer-groups"),
            topics=self.link("topics"),
        )

    def broker(self, broker: dict[str, Any]) -> dict[str, Any]:
        number = broker["broker_id"]
        return self.resource(
            "KafkaBroker",
            ("brokers", number),
            broker_id=number,
            host=broker["host"],
            port=broker["port"],
            rack=broker["rack"],
            configs=self.link("brokers", number, "configs"),
        )

    def topic(self, topic: dict[str, Any]) -> dict[str, Any]:
        name, partitions = topic["name"], topic["partitions"]
        return self.resource(
            "KafkaTopic",
            ("topics", name),
            topic_name=name,
            is_internal=topic["is_internal"],
            replication_factor=len(partitions[0]["replica_nodes"]) if partitions else 0,
            partitions_count=len(partitions),
            partitions=self.link("topics", name, "partitions"),
            configs=self.link("topics", name, "configs"),
            partition_reassignments=self.link("topics", name, "partitions", "-", "reassignment"),
        )

    def partition(self, topic: str, partition: dict[str, Any]) -> dict[str, Any]:
        where = ("topics", topic, "partitions", partition["partition_index"])
        leader = partition["leader_id"]
        return self.resource(
            "KafkaPartition",
            where,
            topic_name=topic,
            partition_id=partition["partition_index"],
            leader=None if leader < 0 else self.link(*where, "replicas", leader),
            replicas=self.link(*where, "replicas"),
            reassignment=self.link(*where, "reassignment"),
        )

    def replica(self, topic: str, partition: dict[str, Any], broker: int) -> dict[str, Any]:
        number = partition["partition_index"]
        return self.resource(
            "KafkaReplica",
            ("topics", topic, "partitions", number, "replicas", broker),
            topic_name=topic,
            partition_id=number,
            broker_id=broker,
            is_leader=broker == partition["leader_id"],
            is_in_sync=broker in partition["isr_nodes"],
            broker=self.link("brokers", broker),
        )

    def config(self, kind: str, owner: tuple[str, object], name: str, config: dict[str, Any]) -> dict[str, Any]:
        """`owner`: ("topics", its name) or ("brokers", its id)."""
        field = {"topics": "topic_name", "brokers": "broker_id"}[owner[0]]
        source = config["config_source"]
        synonyms = [
            {"name": each["name"], "value": each["value"], "source": each["source"]}
            for each in map(_as_dict, config.get("synonyms") or ())
        ]
        return self.resource(
            kind,
            (*owner, "configs", name),
            **{field: owner[1]},
            name=name,
            value=None if config["is_sensitive"] else config["value"],
            is_default=source == "DEFAULT_CONFIG",
            is_read_only=config["read_only"],
            is_sensitive=config["is_sensitive"],
            source=source,
            synonyms=synonyms,
        )

    def group(self, group: dict[str, Any]) -> dict[str, Any]:
        name = group["group_id"]
        return self.resource(
            "KafkaConsumerGroup",
            ("consumer-groups", name),
            consumer_group_id=name,
            is_simple=not group["protocol_type"],
            partition_assignor=group["protocol_data"],
            state=str(group["group_state"]).upper(),
            consumer=self.link("consumer-groups", name, "consumers"),
            lag_summary=self.link("consumer-groups", name, "lag-summary"),
        )

    def consumer(self, group: str, member: dict[str, Any]) -> dict[str, Any]:
        name = member["member_id"]
        return self.resource(
            "KafkaConsumer",
            ("consumer-groups", group, "consumers", name),
            consumer_group_id=group,
            consumer_id=name,
            instance_id=member["group_instance_id"],
            client_id=member["client_id"],
            assignments=self.link("consumer-groups", group, "consumers", name, "assignments"),
        )

    def lag(self, group: str, topic: str, partition: int, offset: int, end: int) -> dict[str, Any]:
        where = ("consumer-groups", group, "lags", topic, "partitions", partition)
        return self.resource(
            "KafkaConsumerLag",
            where,
            consumer_group_id=group,
            topic_name=topic,
            partition_id=partition,
            current_offset=offset,
            log_end_offset=end,
            lag=max(0, end - offset),
        )


def _as_dict(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = given if isinstance(given, dict) else given._asdict()
    return found
