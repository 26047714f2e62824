"""Fetch: from the log to the socket. The second of the two hot paths."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from kafkapy.clients.metadata import Node
from kafkapy.common.metrics_topics import StatsByTopic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log_types import FetchIsolation
from kafkapy.network.channel import DECODED_AT_ONCE
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.response_errors import error_codes
from kafkapy.record.file_records import FileRecords
from kafkapy.runtime.clock import Clock, InThread, Steps, forgotten, portions, some_of, work_off
from kafkapy.runtime.completion import spawn
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.fetch.current_leader import current_leader
from kafkapy.server.fetch.down_conversion import DownConvertedRecords, InTurn
from kafkapy.server.fetch.fetch_session import (
    FetchContext,
    FetchSessionCache,
    FollowerFetchSession,
    IncrementalFetchContext,
    Key,
    SessionErrorContext,
)
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.delayed_fetch import DelayedFetch
from kafkapy.server.replication.fetch_params import FetchParams, FetchPartition, FetchResult, is_enough
from kafkapy.server.replication.large_fetch import fetch_in_turns
from kafkapy.server.replication.replica_manager import ColdRead, ReplicaManager

log = logging.getLogger("kafkapy.server.KafkaApis")

AbortedTransaction = FetchResponse.AbortedTransaction
_Answered: TypeAlias = tuple[FetchPartition, FetchResult, FetchResponse.PartitionData]
_fetch_response: Final = FetchResponse.maker
_topic_response: Final = FetchResponse.FetchableTopicResponse.maker
_partition_data: Final = FetchResponse.PartitionData.maker

_FIRST_WITH_CURRENT_LEADER: Final = 16
_FIRST_WITH_TOPIC_IDS: Final = 13
_FIRST_WITH_FOLLOWER_FETCH: Final = 11
_FIRST_WITH_ZSTD: Final = 10
_FIRST_WITH_STORAGE_ERROR: Final = 6
_FIRST_WITH_MAGIC_2: Final = 4
_FIRST_WITH_SOFT_LIMITS: Final = 3
_FIRST_WITH_MAGIC_1: Final = 2
_NONE: Final = Errors.NONE
_MANY: Final = 500
"""Partitions of a fetch that are read and answered over several turns. In a follower's session those with news are, in one."""
_ERRORS_OF_LEADERSHIP: Final = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)


class FetchHandler:
    """Reads what consumers and followers ask for; `handle` is on the hot path."""

    def __init__(
        self,
        fetch_sessions: FetchSessionCache,
        config: KafkaConfig,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        authorizer: Authorizer,
        conversions: InThread,
        clock: Clock,
    ) -> None:
        """`conversions`: threads that convert records for old clients."""
        self._conversions = InTurn(conversions)
        self._fetch_sessions = fetch_sessions
        self._config = config
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._authorizer = authorizer
        self._clock = clock

    def handle(self, request: Request) -> FetchResponse | Awaitable[FetchResponse | None] | None:
        """Find the session, read, and answer when there is enough (or the time is up)."""
        body: FetchRequest = request.body
        uses_topic_ids = request.api_version >= _FIRST_WITH_TOPIC_IDS
        if request.size > DECODED_AT_ONCE:
            return self._handle_large(request, uses_topic_ids)
        wanted: list[FetchPartition] = []
        for topic in body.topics:
            self._add_wanted(wanted, topic, topic.partitions, uses_topic_ids)
        return self._handle(request, wanted, uses_topic_ids)

    async def _handle_large(self, request: Request, uses_topic_ids: bool) -> FetchResponse | None:
        wanted = await work_off(self._clock, self._wanted_in_steps(request.body, uses_topic_ids))
        answer = self._handle(request, wanted, uses_topic_ids)
        return answer if answer is None or isinstance(answer, FetchResponse) else await answer

    def _handle(
        self, request: Request, wanted: list[FetchPartition], uses_topic_ids: bool
    ) -> FetchResponse | Awaitable[FetchResponse | None] | None:
        body: FetchRequest = request.body
        version = request.api_version
        replica_id = body.replica_id if version < 15 else _replica_id(body)
        is_follower = replica_id >= 0
        if is_follower:
            request.is_of_follower()
        context = self._fetch_sessions.context(
            body.session_id,
            body.session_epoch,
            is_follower,
            uses_topic_ids,
            wanted,
            _forgotten(body, uses_topic_ids),
            replica_id,
        )
        if isinstance(context, SessionErrorContext):
            return FetchResponse(error_code=context.error.code, session_id=0)
        max_bytes = min(body.max_bytes, self._config.fetch_max_bytes)
        params = FetchParams(
            replica_id,
            body.max_wait_ms,
            min(body.min_bytes, max_bytes),
            max_bytes,
            _isolation(is_follower, body.isolation_level),
            version < _FIRST_WITH_SOFT_LIMITS,
            is_follower or version < _FIRST_WITH_FOLLOWER_FETCH,
            -1 if body.replica_state is None else body.replica_state.replica_epoch,
            body.rack_id,
            request.context.listener_name,
        )
        if isinstance(context, IncrementalFetchContext) and isinstance(context.session, FollowerFetchSession):
            _FollowerFetch(self, self._replica_manager, request, context, context.session, params).begin()
            return None
        if len(context.fetches) > _MANY:
            return self._fetch_many(request, context, params, is_follower)
        errors = [self.refusal(request, fetch, is_follower) for fetch in context.fetches]
        readable = [fetch for fetch, error in zip(context.fetches, errors, strict=True) if error is None]

        def done(results: list[FetchResult]) -> None:
            if request.cancelled:
                return
            if is_follower:
                self.record_throttled(readable, results)
            remaining = iter(results)
            all_results = [next(remaining) if error is None else _refused(error) for error in errors]
            if version < _FIRST_WITH_MAGIC_2:
                spawn(self._respond_to_old_client(request, context, all_results, is_follower))
            else:
                request.respond(self.response(request, context, all_results, is_follower))

        self._replica_manager.fetch_messages(params, readable, done)
        return None

    async def _fetch_many(
        self, request: Request, context: FetchContext, params: FetchParams, is_follower: bool
    ) -> FetchResponse | None:
        """A fetch of so many partitions that others would wait for it: each part of the work takes turns."""
        errors = await work_off(self._clock, self._refusals(request, context.fetches, is_follower))
        readable = [fetch for fetch, error in zip(context.fetches, errors, strict=True) if error is None]
        found = await fetch_in_turns(self._replica_manager, self._clock, params, readable)
        if request.cancelled:
            return None
        if is_follower:
            self.record_throttled(readable, found)
        results = await work_off(self._clock, _all_results(errors, found))
        if request.api_version < _FIRST_WITH_MAGIC_2:
            await self._respond_to_old_client(request, context, results, is_follower)
            return None
        response = await work_off(self._clock, self._response_in_steps(request, context, results, is_follower))
        del found, readable, errors
        for done in (results, context.fetches):
            spawn(work_off(self._clock, forgotten(done)))
        return response

    def _refusals(
        self, request: Request, fetches: list[FetchPartition], is_follower: bool
    ) -> Steps[list[Errors | None]]:
        errors: list[Errors | None] = []
        for some in portions(fetches):
            errors += [self.refusal(request, fetch, is_follower) for fetch in some]
            yield
        return errors

    def record_throttled(self, fetches: list[FetchPartition], results: list[FetchResult]) -> None:
        quota = self._replica_manager.leader_quota
        if not quota.is_idle:
            sent = zip(fetches, results, strict=True)
            size = sum(result.size for fetch, result in sent if quota.is_throttled(fetch.topic_partition))
            if size:
                quota.record(size)

    def _wanted_in_steps(self, body: FetchRequest, uses_topic_ids: bool) -> Steps[list[FetchPartition]]:
        wanted: list[FetchPartition] = []
        for topic in body.topics:
            for some in portions(topic.partitions):
                self._add_wanted(wanted, topic, some, uses_topic_ids)
                yield
        return wanted

    def _add_wanted(
        self,
        wanted: list[FetchPartition],
        topic: FetchRequest.FetchTopic,
        partitions: Sequence[FetchRequest.FetchPartition],
        uses_topic_ids: bool,
    ) -> None:
        name_of = self._replica_manager.name_of
        if uses_topic_ids:
            topic_id = topic.topic_id
            name = self._metadata_cache.topic_name(topic_id) or ""
        else:
            topic_id = ZERO_UUID
            name = topic.topic
        for p in partitions:
            wanted.append(
                FetchPartition(
                    name_of(name, p.partition),
                    topic_id,
                    p.fetch_offset,
                    p.log_start_offset,
                    p.partition_max_bytes,
                    p.current_leader_epoch,
                    p.last_fetched_epoch,
                )
            )

    def refusal(self, request: Request, fetch: FetchPartition, is_follower: bool) -> Errors | None:
        topic, partition = fetch.topic_partition
        version = request.api_version
        if version >= _FIRST_WITH_TOPIC_IDS and not topic:
            # A partition of a session may have had an id that was unknown when it was first named.
            topic = self._metadata_cache.topic_name(fetch.topic_id) or ""
            if not topic:
                return Errors.UNKNOWN_TOPIC_ID
            fetch.topic_partition = TopicPartition(topic, partition)
        authorizer = self._authorizer
        if authorizer.enabled:
            if is_follower:
                # A forged replica id must not read below the high watermark (CVE-2018-1288).
                if not authorizer.authorize(request.context, "CLUSTER_ACTION", "CLUSTER", CLUSTER_NAME):
                    return Errors.TOPIC_AUTHORIZATION_FAILED
            elif not authorizer.authorize(request.context, "READ", "TOPIC", topic):
                return Errors.TOPIC_AUTHORIZATION_FAILED
        if not self._metadata_cache.contains(topic, partition):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        return None if version >= _FIRST_WITH_ZSTD else self._refusal_of_old_client(fetch, version, is_follower)

    def _refusal_of_old_client(self, fetch: FetchPartition, version: int, is_follower: bool) -> Errors | None:
        """The topic may be zstd, which old clients can't read (KIP-110), or may not be converted for the oldest (KIP-283)."""
        local = self._replica_manager.partition(fetch.topic_partition)
        if local is None or local.log is None:
            return None
        config = local.log.config
        if config.compression_type == "zstd":
            return Errors.UNSUPPORTED_COMPRESSION_TYPE
        if (
            not is_follower
            and not config.message_downconversion_enable
            and config.record_version > _newest_magic(version)
        ):
            return Errors.UNSUPPORTED_VERSION
        return None

    def response(
        self,
        request: Request,
        context: FetchContext,
        results: list[FetchResult],
        is_follower: bool,
    ) -> FetchResponse:
        failed = self._note(request, context.fetches, results, is_follower)
        told = context.select(results)
        topics: list[FetchResponse.FetchableTopicResponse] = []
        _add_answers(topics, context.fetches, results, told)
        response: FetchResponse = _fetch_response(0, 0, context.session_id, topics)
        if failed:
            request.note_errors(response)
            if request.api_version >= _FIRST_WITH_CURRENT_LEADER:
                self._add_current_leaders(request, response, _with_answers(context.fetches, results, told, response))
        return response

    def _response_in_steps(
        self, request: Request, context: FetchContext, results: list[FetchResult], is_follower: bool
    ) -> Steps[FetchResponse]:
        """The same for a fetch of very many partitions."""
        failed = False
        for some in portions(range(len(results))):
            part = slice(some[0], some[-1] + 1)
            failed |= self._note(request, context.fetches[part], results[part], is_follower)
            yield
        told = context.select(results)
        topics: list[FetchResponse.FetchableTopicResponse] = []
        for some in portions(told):
            _add_answers(topics, context.fetches, results, some)
            yield
        response: FetchResponse = _fetch_response(0, 0, context.session_id, topics)
        if failed:
            for codes in some_of(error_codes(response)):
                request.note_error_codes(codes)
                yield
            if request.api_version >= _FIRST_WITH_CURRENT_LEADER:
                for answered in some_of(_with_answers(context.fetches, results, told, response)):
                    self._add_current_leaders(request, response, answered)
                    yield
        return response

    def _note(
        self, request: Request, fetches: list[FetchPartition], results: list[FetchResult], is_follower: bool
    ) -> bool:
        """Count what was found; was there any error? Old clients are told of those that they know."""
        topic_stats = self._replica_manager.topic_stats
        stats = topic_stats.followers if is_follower else topic_stats.clients
        failed = False
        for fetch, result in zip(fetches, results, strict=True):
            _count(stats, fetch.topic_partition.topic, result)
            if request.api_version < _FIRST_WITH_STORAGE_ERROR and result.error is Errors.KAFKA_STORAGE_ERROR:
                result.error = Errors.NOT_LEADER_OR_FOLLOWER  # which it knows, and takes for a reason to ask again
            if result.error is not _NONE:
                failed = True
        return failed

    def _add_current_leaders(self, request: Request, response: FetchResponse, answered: Iterable[_Answered]) -> None:
        nodes: set[Node] = set()
        for fetch, result, answer in answered:
            if result.error in _ERRORS_OF_LEADERSHIP:
                leader = current_leader(self._replica_manager, fetch.topic_partition, request.context.listener_name)
                if leader is not None:
                    answer.current_leader = FetchResponse.LeaderIdAndEpoch(
                        leader_id=leader.id, leader_epoch=leader.epoch
                    )
                    nodes |= leader.nodes
        known = {node.node_id for node in response.node_endpoints}
        response.node_endpoints += [
            FetchResponse.NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in sorted(nodes)
            if node.id not in known
        ]
        response.node_endpoints.sort(key=lambda endpoint: endpoint.node_id)

    async def _respond_to_old_client(
        self, request: Request, context: FetchContext, results: list[FetchResult], is_follower: bool
    ) -> None:
        """Of clients from before 0.11, who know older message formats only: they get the records in these."""
        magic = _newest_magic(request.api_version)
        for fetch, result in zip(context.fetches, results, strict=True):
            try:
                await self._down_convert(fetch, result, magic)
            except KafkaError as problem:
                result.error, result.high_watermark, result.records = problem.error, -1, None
            except Exception:
                log.exception("Cannot convert records of %s", fetch.topic_partition)
                result.error, result.high_watermark, result.records = Errors.UNKNOWN_SERVER_ERROR, -1, None
        if not request.cancelled:
            request.respond(self.response(request, context, results, is_follower))

    async def _down_convert(self, fetch: FetchPartition, result: FetchResult, magic: int) -> None:
        """The config says which format the log has, as in Kafka: older records in it are rewritten for nothing, newer ones go out
        as they are."""
        records = result.records
        local = self._replica_manager.partition(fetch.topic_partition)
        if not isinstance(records, FileRecords) or local is None or local.log is None:
            return
        if local.log.config.record_version > magic:
            converted = DownConvertedRecords(records, magic, fetch.fetch_offset, self._conversions)
            await converted.begin()
            result.records = converted


class _FollowerFetch:
    """A follower's fetch within a session: only partitions with news are looked at, when it comes and while it waits."""

    def __init__(
        self,
        handler: FetchHandler,
        replica_manager: ReplicaManager,
        request: Request,
        context: IncrementalFetchContext,
        session: FollowerFetchSession,
        params: FetchParams,
    ) -> None:
        self._handler = handler
        self._replica_manager = replica_manager
        self._request = request
        self._context = context
        self._session = session
        self._params = params
        self._waiting: DelayedFetch | None = None

    def begin(self) -> None:
        cold: list[ColdRead] = []
        progressed: list[TopicPartition] = []
        results = self._read(progressed, cold)
        if cold:
            self._replica_manager.look_up(cold, self._begin_again)
            self._replica_manager.role_changed(*progressed)
        else:
            self._answer_or_wait(results, progressed)

    def _begin_again(self) -> None:
        if not self._request.cancelled:
            self._context.fetches = list(self._session.active.values())
            progressed: list[TopicPartition] = []
            self._answer_or_wait(self._read(progressed), progressed)

    def _answer_or_wait(self, results: list[FetchResult], progressed: list[TopicPartition]) -> None:
        params, session, replica_manager = self._params, self._session, self._replica_manager
        fetches = self._context.fetches
        if params.max_wait_ms <= 0 or is_enough(params, results):
            self._respond(results)
        else:
            session.settle(fetches, results)
            waiting = [(f, r.start) for f, r in zip(fetches, results, strict=True) if r.start is not None]
            self._waiting = session.waiting = operation = DelayedFetch(params, waiting, replica_manager, self._waited)
            replica_manager.fetch_purgatory.try_complete_else_watch(
                operation, [fetch.topic_partition for fetch in session.active.values()]
            )
        replica_manager.role_changed(*progressed)

    def _waited(self) -> None:
        if self._session.waiting is self._waiting:
            self._session.waiting = None
        self._waiting = None  # it refers to this: the two would live until the garbage collector comes
        if not self._request.cancelled:
            self._context.fetches = list(self._session.active.values())
            self._respond(self._read())

    def _read(
        self, progressed: list[TopicPartition] | None = None, cold: list[ColdRead] | None = None
    ) -> list[FetchResult]:
        errors = [self._handler.refusal(self._request, fetch, True) for fetch in self._context.fetches]
        readable = [fetch for fetch, error in zip(self._context.fetches, errors, strict=True) if error is None]
        remaining = iter(self._replica_manager.read_from_log(self._params, readable, progressed, cold))
        return [next(remaining) if error is None else _refused(error) for error in errors]

    def _respond(self, results: list[FetchResult]) -> None:
        self._handler.record_throttled(self._context.fetches, results)
        response = self._handler.response(self._request, self._context, results, is_follower=True)
        self._session.settle(self._context.fetches, results)
        self._request.respond(response)


def _replica_id(body: FetchRequest) -> int:
    return -1 if body.replica_state is None else body.replica_state.replica_id


def _forgotten(body: FetchRequest, uses_topic_ids: bool) -> list[Key]:
    return [
        (topic.topic_id if uses_topic_ids else topic.topic, partition)
        for topic in body.forgotten_topics_data
        for partition in topic.partitions
    ]


def _isolation(is_follower: bool, isolation_level: int) -> FetchIsolation:
    if is_follower:
        return FetchIsolation.LOG_END
    return FetchIsolation.TXN_COMMITTED if isolation_level == 1 else FetchIsolation.HIGH_WATERMARK


def _all_results(errors: list[Errors | None], found: list[FetchResult]) -> Steps[list[FetchResult]]:
    """Where there was no error, what was found."""
    results: list[FetchResult] = []
    remaining = iter(found)
    for some in portions(errors):
        results += [next(remaining) if error is None else _refused(error) for error in some]
        yield
    return results


def _with_answers(
    fetches: list[FetchPartition], results: list[FetchResult], told: list[int], response: FetchResponse
) -> Iterator[_Answered]:
    answers = (answer for topic in response.responses for answer in topic.partitions)
    for index, answer in zip(told, answers, strict=True):
        yield fetches[index], results[index], answer


def _refused(error: Errors) -> FetchResult:
    result = FetchResult(error)
    result.aborted_transactions = []
    if error is Errors.UNSUPPORTED_COMPRESSION_TYPE:
        result.records = None  # as Apache's brokers answer, here alone
    return result


def _count(stats: StatsByTopic, topic: str, result: FetchResult) -> None:
    of_topic = stats[topic] if result.error is _NONE else stats.known(topic)
    of_topic.fetches += 1
    of_topic.bytes_out += result.size


def _newest_magic(version: int) -> int:
    """The newest message format that a response of this version may have."""
    if version >= _FIRST_WITH_MAGIC_2:
        return 2
    return 1 if version >= _FIRST_WITH_MAGIC_1 else 0


def _add_answers(
    topics: list[FetchResponse.FetchableTopicResponse],
    fetches: list[FetchPartition],
    results: list[FetchResult],
    told: Sequence[int],
) -> None:
    """Neighbours of one topic stand together; the last of `topics` may go on."""
    answers: list[FetchResponse.PartitionData] = []
    last: FetchResponse.FetchableTopicResponse | None = None
    if topics:
        last = topics[-1]
        answers = last.partitions
    for index in told:
        fetch = fetches[index]
        topic = fetch.topic_partition.topic
        if last is None or last.topic_id != fetch.topic_id or last.topic != topic:
            answers = []
            last = _topic_response(topic, fetch.topic_id, answers)
            topics.append(last)
        answers.append(_answer(fetch, results[index]))


def _answer(fetch: FetchPartition, result: FetchResult) -> FetchResponse.PartitionData:
    aborted, diverging = result.aborted_transactions, result.diverging_epoch
    return _partition_data(  # type: ignore[no-any-return]
        fetch.topic_partition.partition,
        result.error.code,
        result.high_watermark,
        result.last_stable_offset,
        result.log_start_offset,
        None if diverging is None else FetchResponse.EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
        None,  # current leader
        None,  # snapshot id
        None if aborted is None else [AbortedTransaction(producer_id=id, first_offset=first) for id, first in aborted],
        result.preferred_read_replica,
        result.records,
    )
