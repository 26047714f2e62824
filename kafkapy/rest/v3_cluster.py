"""REST Proxy v3: clusters, brokers, topics, partitions, configs, groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.admin.config_resource import ConfigResource
from kafkapy.admin.new_topic import NewTopic
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.http.messages import HttpAnswer, HttpRequest, json_answer
from kafkapy.rest.cluster_view import configs_of, offsets_of, partition_of, topic_of
from kafkapy.rest.context import RestContext
from kafkapy.rest.fields import INT16, INT32, config_value, path_number, whole
from kafkapy.rest.rest_errors import RestRefusal, bad_request, config_not_found
from kafkapy.rest.routing import JSON, RestRoute, json_body
from kafkapy.rest.v3_resources import V3Resources

CLUSTER = ("v3", "clusters", None)
Blocking = Callable[[V3Resources, tuple[str, ...], Any], Any]
"""Resources, the path's parameters after the cluster, the body -> JSON. Called on a thread."""


class V3Cluster:
    def __init__(self, context: RestContext, base_url: Callable[[HttpRequest], str]) -> None:
        self._context = context
        self._base_url = base_url

    @property
    def _admin(self) -> Any:
        return self._context.admin

    def routes(self) -> list[RestRoute]:
        topic = (*CLUSTER, "topics", None)
        partition = (*topic, "partitions", None)
        group = (*CLUSTER, "consumer-groups", None)
        table: list[tuple[str, tuple[str | None, ...], Blocking]] = [
            ("GET", CLUSTER, self._cluster),
            ("GET", (*CLUSTER, "brokers"), self._brokers),
            ("GET", (*CLUSTER, "brokers", None), self._broker),
            ("GET", (*CLUSTER, "brokers", None, "configs"), self._broker_configs),
            ("GET", (*CLUSTER, "brokers", None, "configs", None), self._broker_config),
            ("GET", (*CLUSTER, "topics"), self._topics),
            ("POST", (*CLUSTER, "topics"), self._create_topic),
            ("GET", topic, self._topic),
            ("PATCH", topic, self._grow_topic),
            ("DELETE", topic, self._delete_topic),
            ("GET", (*topic, "configs"), self._topic_configs),
            ("POST", (*topic, "configs:alter"), self._alter_configs),
            ("GET", (*topic, "configs", None), self._topic_config),
            ("PUT", (*topic, "configs", None), self._put_config),
            ("DELETE", (*topic, "configs", None), self._reset_config),
            ("GET", (*topic, "partitions"), self._partitions),
            ("GET", partition, self._partition),
            ("GET", (*partition, "replicas"), self._replicas),
            ("GET", (*partition, "replicas", None), self._replica),
            ("GET", (*CLUSTER, "consumer-groups"), self._groups),
            ("GET", group, self._group),
            ("GET", (*group, "consumers"), self._consumers),
            ("GET", (*group, "lags"), self._lags),
            ("GET", (*group, "lag-summary"), self._lag_summary),
        ]
        routes = [RestRoute(method, parts, self._action(f)) for method, parts, f in table]
        return [RestRoute("GET", ("v3", "clusters"), self._clusters), *routes]

    def resources(self, request: HttpRequest, cluster_id: str) -> V3Resources:
        """Return the resources of the cluster. Raises RestRefusal for another cluster's id."""
        if cluster_id != self._context.cluster_id:
            raise RestRefusal(404, 404, f"Cluster {cluster_id} cannot be found.")
        return V3Resources(f"{self._base_url(request)}/v3/clusters/{cluster_id}", cluster_id)

    def _action(self, f: Blocking) -> Callable[[HttpRequest, tuple[str, ...]], Any]:
        async def action(request: HttpRequest, parts: tuple[str, ...]) -> Any:
            resources = self.resources(request, parts[0])
            body = json_body(request, {}) if request.method in ("POST", "PUT", "PATCH") else None
            return await self._context.blocking(f, resources, parts[1:], body)

        return action

    # -- cluster and brokers

    async def _clusters(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        resources = self.resources(request, self._context.cluster_id)
        cluster = await self._context.blocking(self._cluster, resources, (), None)
        metadata = {"self": f"{self._base_url(request)}/v3/clusters", "next": None}
        return {"kind": "KafkaClusterList", "metadata": metadata, "data": [cluster]}

    def _cluster(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        controller = self._admin.describe_cluster()["controller_id"]
        return resources.cluster(controller if controller >= 0 else None)

    def _brokers(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        brokers = self._admin.describe_cluster()["brokers"]
        return resources.listed("KafkaBroker", ("brokers",), map(resources.broker, brokers))

    def _broker(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        for broker in self._admin.describe_cluster()["brokers"]:
            if broker["broker_id"] == path_number(parts[0]):
                return resources.broker(broker)
        raise RestRefusal(404, 404, f"Broker {parts[0]} not found.")

    def _configs(self, resources: V3Resources, owner: tuple[str, str], parts: tuple[str, ...]) -> Any:
        """Return all configs, or the one in `parts`."""
        kind, word = {
            "topics": (ConfigResourceType.TOPIC, "KafkaTopicConfig"),
            "brokers": (ConfigResourceType.BROKER, "KafkaBrokerConfig"),
        }[owner[0]]
        configs = configs_of(self._admin, kind, owner[1])
        if not parts:
            items = (resources.config(word, owner, name, config) for name, config in configs.items())
            return resources.listed(word, (*owner, "configs"), items)
        if parts[0] not in configs:
            raise config_not_found(parts[0])
        return resources.config(word, owner, parts[0], configs[parts[0]])

    def _broker_configs(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        self._broker(resources, parts, None)
        return self._configs(resources, ("brokers", parts[0]), ())

    def _broker_config(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        self._broker(resources, parts, None)
        return self._configs(resources, ("brokers", parts[0]), parts[1:])

    # -- topics

    def _topics(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        topics = sorted(self._admin.describe_topics(), key=lambda topic: topic["name"])
        return resources.listed("KafkaTopic", ("topics",), map(resources.topic, topics))

    def _topic(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        return resources.topic(topic_of(self._admin, parts[0]))

    def _create_topic(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        name = body.get("topic_name")
        if not isinstance(name, str) or not name:
            raise bad_request("topic_name is missing")
        configs = {each["name"]: each["value"] for each in _config_rows(body.get("configs"), "configs")}
        assignments = _assignments(body.get("replicas_assignments"))
        new = NewTopic(
            name,
            num_partitions=-1 if assignments else _count(body, "partitions_count", INT32),
            replication_factor=-1 if assignments else _count(body, "replication_factor", INT16),
            replica_assignments=assignments,
            topic_configs=configs,
        )
        validate_only = body.get("validate_only") or False
        if not isinstance(validate_only, bool):
            raise bad_request("validate_only is true or false")
        self._admin.create_topics([new], validate_only=validate_only, wait_for_metadata=not validate_only)
        if validate_only:
            empty = {"name": name, "partitions": [], "is_internal": False}
            return json_answer(200, resources.topic(empty), JSON)
        return json_answer(201, resources.topic(topic_of(self._admin, name)), JSON)

    def _grow_topic(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        count = _count(body, "partitions_count", INT32)
        topic_of(self._admin, parts[0])
        self._admin.create_partitions({parts[0]: count})
        return resources.topic(topic_of(self._admin, parts[0]))

    def _delete_topic(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        topic_of(self._admin, parts[0])
        self._admin.delete_topics([parts[0]])

    def _topic_configs(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        topic_of(self._admin, parts[0])
        return self._configs(resources, ("topics", parts[0]), ())

    def _topic_config(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        topic_of(self._admin, parts[0])
        return self._configs(resources, ("topics", parts[0]), parts[1:])

    def _put_config(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> HttpAnswer:
        return self._change(parts[0], {parts[1]: config_value(body.get("value"), parts[1])}, ())

    def _reset_config(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> HttpAnswer:
        return self._change(parts[0], {}, (parts[1],))

    def _alter_configs(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> HttpAnswer:
        rows = _config_rows(body.get("data"), "data")
        if any(row.get("operation") not in (None, "SET", "DELETE") for row in rows):
            raise bad_request("The operation of a config is SET or DELETE")
        deleted = tuple(row["name"] for row in rows if row.get("operation") == "DELETE")
        return self._change(
            parts[0], {row["name"]: row["value"] for row in rows if row["name"] not in deleted}, deleted
        )

    def _change(self, topic: str, changes: dict[str, str | None], resets: tuple[str, ...]) -> HttpAnswer:
        topic_of(self._admin, topic)
        known = configs_of(self._admin, ConfigResourceType.TOPIC, topic)
        for name in (*changes, *resets):
            if name not in known:
                raise config_not_found(name)
        if changes:
            self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, changes)])
        if resets:
            self._admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, list(resets))])
        return HttpAnswer(204)

    # -- partitions

    def _partitions(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        topic = topic_of(self._admin, parts[0])
        items = (resources.partition(parts[0], each) for each in topic["partitions"])
        return resources.listed("KafkaPartition", ("topics", parts[0], "partitions"), items)

    def _partition(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        return resources.partition(parts[0], partition_of(self._admin, parts[0], path_number(parts[1])))

    def _replicas(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        partition = partition_of(self._admin, parts[0], path_number(parts[1]))
        items = (resources.replica(parts[0], partition, broker) for broker in partition["replica_nodes"])
        return resources.listed("KafkaReplica", ("topics", parts[0], "partitions", parts[1], "replicas"), items)

    def _replica(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        partition = partition_of(self._admin, parts[0], path_number(parts[1]))
        if path_number(parts[2]) not in partition["replica_nodes"]:
            raise RestRefusal(404, 404, f"Replica {parts[2]} not found.")
        return resources.replica(parts[0], partition, path_number(parts[2]))

    # -- groups

    def _groups(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        names = [name for name, kind in self._admin.list_consumer_groups() if kind in ("consumer", "")]
        described = self._admin.describe_groups(names) if names else {}
        return resources.listed("KafkaConsumerGroup", ("consumer-groups",), map(resources.group, described.values()))

    def _described(self, name: str) -> dict[str, Any]:
        if name not in dict(self._admin.list_consumer_groups()):
            raise RestRefusal(404, 404, f"Consumer group {name} could not be found.")
        found: dict[str, Any] = self._admin.describe_groups([name])[name]
        return found

    def _group(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        return resources.group(self._described(parts[0]))

    def _consumers(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        members = self._described(parts[0])["members"]
        items = (resources.consumer(parts[0], member) for member in members)
        return resources.listed("KafkaConsumer", ("consumer-groups", parts[0], "consumers"), items)

    def _lag_rows(self, resources: V3Resources, name: str) -> list[dict[str, Any]]:
        self._described(name)
        offsets = self._admin.list_consumer_group_offsets(name)
        rows = []
        for topic, numbers in indexes_by_topic(offsets).items():
            ends = offsets_of(self._admin, topic, numbers)
            for partition, known in offsets.items():
                if partition.topic == topic:
                    end = ends[partition.partition][1]
                    rows.append(resources.lag(name, topic, partition.partition, known.offset, end))
        return rows

    def _lags(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        rows = self._lag_rows(resources, parts[0])
        return resources.listed("KafkaConsumerLag", ("consumer-groups", parts[0], "lags"), rows)

    def _lag_summary(self, resources: V3Resources, parts: tuple[str, ...], body: Any) -> Any:
        rows = self._lag_rows(resources, parts[0])
        if not rows:
            raise RestRefusal(404, 404, f"Consumer group {parts[0]} has committed nothing.")
        worst = max(rows, key=lambda row: row["lag"])
        return resources.resource(
            "KafkaConsumerGroupLagSummary",
            ("consumer-groups", parts[0], "lag-summary"),
            consumer_group_id=parts[0],
            max_lag_topic_name=worst["topic_name"],
            max_lag_partition_id=worst["partition_id"],
            max_lag=worst["lag"],
            total_lag=sum(row["lag"] for row in rows),
        )


def _count(body: dict[str, Any], name: str, most: int) -> int:
    """Return a count of the body; -1: the broker's default."""
    return whole(body.get(name, -1), name, most, -1, bad_request)


def _assignments(given: Any) -> dict[int, list[int]]:
    """Parse partition -> brokers."""
    found = {}
    for row in _objects(given, "replicas_assignments is a list of objects with partition_id and broker_ids"):
        brokers = row.get("broker_ids")
        if not isinstance(brokers, list):
            raise bad_request("broker_ids is a list of numbers")
        partition = whole(row.get("partition_id"), "partition_id", INT32, 0, bad_request)
        found[partition] = [whole(broker, "broker_ids", INT32, 0, bad_request) for broker in brokers]
    return found


def _config_rows(given: Any, field: str) -> list[dict[str, Any]]:
    rows = _objects(given, f"{field} is a list of objects with name and value")
    if not all(isinstance(row.get("name"), str) for row in rows):
        raise bad_request(f"{field} is a list of objects with name and value")
    return [{**row, "value": config_value(row.get("value"), row["name"])} for row in rows]


def _objects(given: Any, expected: str) -> list[dict[str, Any]]:
    rows = [] if given is None else given
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise bad_request(expected)
    return rows
