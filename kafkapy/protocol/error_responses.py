"""Responses to requests that failed as a whole (Kafka's `AbstractRequest.getErrorResponse`).

The error is set as the response's own error code if there is one, and is repeated for each topic, partition or other
item of the request if the response has an error for each: `_ITEMS` maps items of the request to items of the response.
Error messages are set only if they say more than the code does; else they are null. As in Kafka, a few APIs send the
error's own message, and some omit the throttle time, which clients can see.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Versions


class _Failure(NamedTuple):
    error: Errors
    message: str | None
    """None if it is the same as the error's default message."""
    throttle_time_ms: int
    version: int


def error_response(
    request: Message, version: int, error: Errors, message: str | None = None, throttle_time_ms: int = 0
) -> Message | None:
    """Return Kafka's response to `request` if it failed with `error`; None if there is none (Produce with acks=0).

    Args:
        request: The request.
        version: Its version.
        error: The error.
        message: The error's message; None (default) for the default message.
        throttle_time_ms: The throttle time, ms; default 0.
    """
    api = ApiKey(request.API_KEY)
    failure = _Failure(error, None if message == error.message else message, throttle_time_ms, version)
    if api is ApiKey.PRODUCE and request.acks == 0:  # type: ignore[attr-defined]
        return None
    answer = _whole_answer(api, failure)
    for items in _ITEMS.get(api, ()):
        if items.versions.includes(version):
            setattr(answer, items.target, items.answers(request, type(answer), failure))
    finish = _FINISH.get(api)
    if finish:
        finish(request, answer, failure)
    return answer


def _whole_answer(api: ApiKey, failure: _Failure) -> Message:
    """Return the response without its items."""
    values = dict(_FIXED.get(api, {}))
    fields = {field.name for field in api.response.FIELDS if field.versions.includes(failure.version)}
    if "error_code" in fields:
        values["error_code"] = failure.error.code
    if "error_message" in fields and api not in _WITHOUT_MESSAGE:
        values["error_message"] = failure.error.message if api in _OWN_TEXT else failure.message
    if "throttle_time_ms" in fields and api not in _WITHOUT_THROTTLE_TIME:
        values["throttle_time_ms"] = failure.throttle_time_ms
    answer: Message = api.response(**values)
    return answer


class _Each:
    """Items of the request that have a counterpart in the response.

    `source`: the attribute that contains them, or a path of lists ("dirs.topics"); `target`: the attribute for the
    results. `copied`: attributes that a result copies, "new_name=name" if the names differ; for plain strings and
    numbers it is the attribute that receives the value. `inner`: items within items. `message`: whether results have an
    error message. `fixed`: constant attributes.
    """

    def __init__(
        self,
        source: str,
        target: str,
        copied: str = "",
        inner: _Each | None = None,
        *,
        versions: str = "0+",
        message: bool = False,
        **fixed: Any,
    ) -> None:
        self._source = source.split(".")
        self.target = target
        self._copied = [(new, old or new) for new, _, old in (name.partition("=") for name in copied.split())]
        self._inner = inner
        self.versions = Versions.parse(versions)
        self._message = message
        self._fixed = fixed

    def answers(self, request: Any, parent: Any, failure: _Failure) -> list[Any]:
        """Return the results for the items in `request`, a request or an item of it; `parent` is the class that they
        belong to.
        """
        field = next(field for field in parent.FIELDS if field.name == self.target)
        cls: Any = parent.struct_named(field.struct_name)
        names = [field.name for field in cls.FIELDS]
        fixed = dict(self._fixed)
        for name in ("error_code", "partition_error_code"):
            if name in names:
                fixed[name] = failure.error.code
        if self._message:
            api = ApiKey(parent.ROOT.API_KEY)
            fixed["error_message"] = failure.error.message if api in _OWN_TEXT else failure.message
        return [self._answer(item, cls, fixed, failure) for item in self._items(request)]

    def _items(self, request: Any) -> list[Any]:
        items = [request]
        for name in self._source:
            items = [inner for item in items for inner in getattr(item, name) or ()]
        return items

    def _answer(self, item: Any, cls: Any, fixed: dict[str, Any], failure: _Failure) -> Any:
        plain = isinstance(item, str | int)
        copied = {new: item if plain else getattr(item, old) for new, old in self._copied}
        answer = cls(**copied, **fixed)
        if self._inner:
            setattr(answer, self._inner.target, self._inner.answers(item, cls, failure))
        return answer


_PARTITIONS = _Each("partitions", "partitions", "partition_index")

_ITEMS: dict[ApiKey, tuple[_Each, ...]] = {
    ApiKey.PRODUCE: (
        _Each(
            "topic_data",
            "responses",
            "name",
            _Each("partition_data", "partition_responses", "index", message=True, base_offset=-1),
        ),
    ),
    # With topic ids a client uses the top-level error.
    ApiKey.FETCH: (
        _Each(
            "topics",
            "responses",
            "topic",
            _Each("partitions", "partitions", "partition_index=partition", high_watermark=-1),
            versions="0-12",
        ),
    ),
    ApiKey.LIST_OFFSETS: (_Each("topics", "topics", "name", _PARTITIONS),),
    ApiKey.METADATA: (_Each("topics", "topics", "name topic_id"),),
    ApiKey.LEADER_AND_ISR: (
        _Each("ungrouped_partition_states", "partition_errors", "topic_name partition_index", versions="0-1"),
        _Each(
            "topic_states",
            "topics",
            "topic_id",
            _Each("partition_states", "partition_errors", "partition_index"),
            versions="5+",
        ),
    ),
    ApiKey.STOP_REPLICA: (
        _Each("ungrouped_partitions", "partition_errors", "topic_name partition_index", versions="0"),
    ),
    ApiKey.OFFSET_COMMIT: (_Each("topics", "topics", "name", _PARTITIONS),),
    ApiKey.OFFSET_FETCH: (
        _Each(
            "topics",
            "topics",
            "name",
            _Each("partition_indexes", "partitions", "partition_index", committed_offset=-1),
            versions="0-1",
        ),
        _Each("groups", "groups", "group_id", versions="8+"),
    ),
    ApiKey.FIND_COORDINATOR: (
        _Each("coordinator_keys", "coordinators", "key", versions="4+", message=True, node_id=-1, port=-1),
    ),
    ApiKey.DESCRIBE_GROUPS: (_Each("groups", "groups", "group_id"),),
    ApiKey.CREATE_TOPICS: (_Each("topics", "topics", "name", message=True),),
    ApiKey.DELETE_TOPICS: (
        _Each("topic_names", "responses", "name", versions="0-5"),
        _Each("topics", "responses", "name topic_id", versions="6+"),
    ),
    ApiKey.DELETE_RECORDS: (
        _Each("topics", "topics", "name", _Each("partitions", "partitions", "partition_index", low_watermark=-1)),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        _Each("topics", "topics", "topic", _Each("partitions", "partitions", "partition")),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        _Each(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            "name",
            _Each("partitions", "results_by_partition", "partition_index"),
            versions="0-3",
        ),
    ),
    ApiKey.WRITE_TXN_MARKERS: (
        _Each(
            "markers",
            "markers",
            "producer_id",
            _Each("topics", "topics", "name", _Each("partition_indexes", "partitions", "partition_index")),
        ),
    ),
    ApiKey.TXN_OFFSET_COMMIT: (_Each("topics", "topics", "name", _PARTITIONS),),
    ApiKey.CREATE_ACLS: (_Each("creations", "results", message=True),),
    ApiKey.DELETE_ACLS: (_Each("filters", "filter_results", message=True),),
    ApiKey.DESCRIBE_CONFIGS: (_Each("resources", "results", "resource_type resource_name", message=True),),
    ApiKey.ALTER_CONFIGS: (_Each("resources", "responses", "resource_type resource_name", message=True),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (
        _Each("dirs.topics", "results", "topic_name=name", _Each("partitions", "partitions", "partition_index")),
    ),
    ApiKey.CREATE_PARTITIONS: (_Each("topics", "results", "name", message=True),),
    ApiKey.DELETE_GROUPS: (_Each("groups_names", "results", "group_id"),),
    ApiKey.ELECT_LEADERS: (
        _Each(
            "topic_partitions",
            "replica_election_results",
            "topic",
            _Each("partitions", "partition_result", "partition_id", message=True),
        ),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (_Each("resources", "responses", "resource_type resource_name", message=True),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (
        _Each("topics", "responses", "name", _Each("partitions", "partitions", "partition_index", message=True)),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (
        _Each("topics", "topics", "name", _Each("partition_indexes", "partitions", "partition_index")),
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: (
        _Each("entries", "entries", "", _Each("entity", "entity", "entity_type entity_name"), message=True),
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (_Each("users", "results", message=True),),
    ApiKey.DESCRIBE_PRODUCERS: (
        _Each("topics", "topics", "name", _Each("partition_indexes", "partitions", "partition_index")),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: (_Each("transactional_ids", "transaction_states", "transactional_id"),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (_Each("group_ids", "groups", "group_id"),),
}

_FIXED: dict[ApiKey, dict[str, Any]] = {
    ApiKey.INIT_PRODUCER_ID: {"producer_id": -1, "producer_epoch": -1},
    ApiKey.CREATE_DELEGATION_TOKEN: {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {"entries": None},
}
"""Attributes of the response that differ from their defaults."""

_OWN_TEXT = {ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS}
_WITHOUT_MESSAGE = {ApiKey.CONSUMER_GROUP_HEARTBEAT}
_WITHOUT_THROTTLE_TIME = {
    ApiKey.FIND_COORDINATOR,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
}


# --- exceptions from the tables


def _fetch(request: Any, answer: Any, failure: _Failure) -> None:
    if failure.version >= 7:
        answer.session_id = request.session_id


def _metadata(request: Any, answer: Any, failure: _Failure) -> None:
    for topic in answer.topics:
        topic.name = topic.name or ""


def _leader_and_isr(request: Any, answer: Any, failure: _Failure) -> None:
    if 2 <= failure.version <= 4:
        answer.partition_errors = [
            answer.LeaderAndIsrPartitionError(topic.topic_name, partition.partition_index, failure.error.code)
            for topic in request.topic_states
            for partition in topic.partition_states
        ]


def _stop_replica(request: Any, answer: Any, failure: _Failure) -> None:
    names: list[tuple[str, int]] = []
    if failure.version == 0:
        return
    if failure.version <= 2:
        names = [(topic.name, partition) for topic in request.topics for partition in topic.partition_indexes]
    else:
        names = [
            (topic.topic_name, partition.partition_index)
            for topic in request.topic_states
            for partition in topic.partition_states
        ]
    answer.partition_errors = [answer.StopReplicaPartitionError(*name, failure.error.code) for name in names]


def _find_coordinator(request: Any, answer: Any, failure: _Failure) -> None:
    if failure.version <= 3:
        answer.node_id = answer.port = -1


def _join_group(request: Any, answer: Any, failure: _Failure) -> None:
    if failure.version >= 7:
        answer.protocol_name = None


def _api_versions(request: Any, answer: Any, failure: _Failure) -> None:
    """Tell a client whose version is too new which versions are supported (KIP-511)."""
    if failure.error is Errors.UNSUPPORTED_VERSION:
        api = ApiKey.API_VERSIONS
        answer.api_keys = [answer.ApiVersion(int(api), api.min_version, api.max_version)]


def _create_delegation_token(request: Any, answer: Any, failure: _Failure) -> None:
    if failure.version >= 3:
        answer.token_requester_principal_type = "User"
        answer.token_requester_principal_name = "ANONYMOUS"


def _alter_user_scram_credentials(request: Any, answer: Any, failure: _Failure) -> None:
    """Return one result for each user, even if it occurs several times."""
    users = dict.fromkeys(change.name for change in (*request.deletions, *request.upsertions))
    answer.results = [
        answer.AlterUserScramCredentialsResult(user, failure.error.code, failure.message) for user in users
    ]


_FINISH = {
    ApiKey.FETCH: _fetch,
    ApiKey.METADATA: _metadata,
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.STOP_REPLICA: _stop_replica,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.API_VERSIONS: _api_versions,
    ApiKey.CREATE_DELEGATION_TOKEN: _create_delegation_token,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
}
