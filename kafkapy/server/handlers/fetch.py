"""Handles Fetch: sends records from the log to consumers and followers. One of the two hot paths."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.metrics_topics import StatsByTopic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log_types import FetchIsolation
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.record.file_records import FileRecords
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.runtime.completion import Completion
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.fetch.current_leader import add_current_leaders
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
from kafkapy.server.quotas.fetch_response_size import fetch_response_size
from kafkapy.server.quotas.quota_managers import QuotaManagers
from kafkapy.server.replication.delayed_fetch import DelayedFetch
from kafkapy.server.replication.fetch_params import FetchParams, FetchPartition, FetchResult, is_enough
from kafkapy.server.replication.log_reads import LogReads
from kafkapy.server.replication.replica_manager import ColdRead, ReplicaManager

_CLUSTER_ACTION: Final = ACLOperation.CLUSTER_ACTION
_READ: Final = ACLOperation.READ
_CLUSTER: Final = ResourceType.CLUSTER
_TOPIC: Final = ResourceType.TOPIC

log = logging.getLogger("kafkapy.server.KafkaApis")

AbortedTransaction = FetchResponse.AbortedTransaction
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
_ERRORS_OF_LEADERSHIP: Final = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)


class FetchHandler:
    """Reads partitions for consumers and followers; `handle` is on the hot path."""

    def __init__(
        self,
        fetch_sessions: FetchSessionCache,
        config: KafkaConfig,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        authorizer: Authorizer,
        quotas: QuotaManagers,
        conversions: InThread,
        clock: Clock,
    ) -> None:
        """`conversions`: threads that convert records for old clients."""
        self._conversions = InTurn(conversions)
        self._fetch_sessions = fetch_sessions
        self._config = config
        self._replica_manager = replica_manager
        self._reads = LogReads(replica_manager, clock)
        self._metadata_cache = metadata_cache
        self._authorizer = authorizer
        self._quotas = quotas
        self._clock = clock

    async def handle(self, request: Request) -> FetchResponse:
        """Find the session, read, and respond when there is enough data, or after the time-out."""
        body: FetchRequest = request.body
        version = request.api_version
        uses_topic_ids = version >= _FIRST_WITH_TOPIC_IDS
        replica_id = body.replica_id if version < 15 else _replica_id(body)
        is_follower = replica_id >= 0
        if is_follower:
            request.mark_follower()
        wanted = await self._wanted(body, uses_topic_ids)
        forgotten = _forgotten(body, uses_topic_ids)
        context = self._fetch_sessions.context(
            body.session_id, body.session_epoch, is_follower, uses_topic_ids, wanted, forgotten, replica_id
        )
        if isinstance(context, SessionErrorContext):
            return FetchResponse(error_code=context.error.code, session_id=0)
        params = self._params(request, replica_id)
        if isinstance(context, IncrementalFetchContext) and isinstance(context.session, FollowerFetchSession):
            return await _FollowerFetch(self, self._replica_manager, request, context, context.session, params).answer()
        errors = await self._refusals(request, context.fetches, is_follower)
        readable = [fetch for fetch, error in zip(context.fetches, errors, strict=True) if error is None]
        found = await self._reads.fetch(params, readable)
        if request.cancelled:
            return FetchResponse()
        if is_follower:
            self.record_throttled(readable, found)
        remaining = iter(found)
        results = [next(remaining) if error is None else _refused(error) for error in errors]
        if self._quotas.enabled:
            throttle_ms = self._throttle_ms(request, context, results, is_follower)
            if throttle_ms:
                return self._throttled(context, throttle_ms)
        if version < _FIRST_WITH_MAGIC_2:
            await self._convert_for_old_client(context, results, _newest_magic(version))
        response = await self.response(request, context, results, context.select(results), is_follower)
        request.keep(wanted, readable, found, results, context.fetches)
        return response

    def _params(self, request: Request, replica_id: int) -> FetchParams:
        body: FetchRequest = request.body
        is_follower = replica_id >= 0
        max_bytes = min(body.max_bytes, self._config.fetch_max_bytes)
        if self._quotas.enabled and not is_follower:
            max_bytes = min(max_bytes, self._quotas.fetch_max_bytes(request))
        return FetchParams(
            replica_id,
            body.max_wait_ms,
            min(body.min_bytes, max_bytes),
            max_bytes,
            _isolation(is_follower, body.isolation_level),
            request.api_version < _FIRST_WITH_SOFT_LIMITS,
            is_follower or request.api_version < _FIRST_WITH_FOLLOWER_FETCH,
            -1 if body.replica_state is None else body.replica_state.replica_epoch,
            body.rack_id,
            request.context.listener_name,
        )

    async def _refusals(
        self, request: Request, fetches: list[FetchPartition], is_follower: bool
    ) -> list[Errors | None]:
        errors: list[Errors | None] = []
        for chunk in chunks(fetches):
            await self._clock.checkpoint()
            errors += [self.refusal(request, fetch, is_follower) for fetch in chunk]
        return errors

    def _throttle_ms(
        self, request: Request, context: FetchContext, results: list[FetchResult], is_follower: bool
    ) -> int:
        """Return the throttle time of a consumer's response, ms; 0: the records are sent."""
        if is_follower:
            self.record_exempt(request)
            return 0
        found = zip(context.fetches, results, strict=True)
        size = fetch_response_size(
            request.api_version, ((fetch.topic_partition.topic, result.size) for fetch, result in found)
        )
        return self._quotas.fetch_throttle_ms(request, size, request.thread_ns())

    def _throttled(self, context: FetchContext, throttle_ms: int) -> FetchResponse:
        """Return an empty response; the session is unchanged, and a new one is closed (Kafka's
        `getThrottledResponse`)."""
        if isinstance(context, IncrementalFetchContext):
            return FetchResponse(throttle_time_ms=throttle_ms, session_id=context.session_id)
        self._fetch_sessions.drop(context.session_id)
        return FetchResponse(throttle_time_ms=throttle_ms, session_id=0)

    def record_exempt(self, request: Request) -> None:
        self._quotas.exempt(request.thread_ns())

    def record_throttled(self, fetches: list[FetchPartition], results: list[FetchResult]) -> None:
        quota = self._replica_manager.leader_quota
        if not quota.is_idle:
            sent = zip(fetches, results, strict=True)
            size = sum(result.size for fetch, result in sent if quota.is_throttled(fetch.topic_partition))
            if size:
                quota.record(size)

    async def _wanted(self, body: FetchRequest, uses_topic_ids: bool) -> list[FetchPartition]:
        wanted: list[FetchPartition] = []
        name_of = self._replica_manager.name_of
        for topic in body.topics:
            topic_id = topic.topic_id if uses_topic_ids else ZERO_UUID
            name = (self._metadata_cache.topic_name(topic_id) or "") if uses_topic_ids else topic.topic
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                for p in chunk:
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
        return wanted

    def refusal(self, request: Request, fetch: FetchPartition, is_follower: bool) -> Errors | None:
        topic, partition = fetch.topic_partition
        version = request.api_version
        authorizer = self._authorizer
        # A forged replica id must not read below the high watermark (CVE-2018-1288).
        if (
            is_follower
            and authorizer.enabled
            and not authorizer.authorize(request.context, _CLUSTER_ACTION, _CLUSTER, CLUSTER_NAME)
        ):
            return Errors.TOPIC_AUTHORIZATION_FAILED
        if version >= _FIRST_WITH_TOPIC_IDS and not topic:
            # The topic id of a session's partition may have been unknown when the client added it.
            topic = self._metadata_cache.topic_name(fetch.topic_id) or ""
            if not topic:
                return Errors.UNKNOWN_TOPIC_ID
            fetch.topic_partition = TopicPartition(topic, partition)
        if not is_follower and authorizer.enabled and not authorizer.authorize(request.context, _READ, _TOPIC, topic):
            return Errors.TOPIC_AUTHORIZATION_FAILED
        if not self._metadata_cache.contains(topic, partition):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        return None if version >= _FIRST_WITH_ZSTD else self._refusal_of_old_client(fetch, version, is_follower)

    def _refusal_of_old_client(self, fetch: FetchPartition, version: int, is_follower: bool) -> Errors | None:
        """Return the error if the topic is compressed with zstd, which old clients can't read (KIP-110), or must not
        be down-converted for the oldest clients (KIP-283)."""
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

    async def response(
        self,
        request: Request,
        context: FetchContext,
        results: list[FetchResult],
        told: list[int],
        is_follower: bool,
    ) -> FetchResponse:
        """`told`: indexes of the results in the response, as selected by the context when they were read."""
        fetches, failed = context.fetches, False
        topics: list[FetchResponse.FetchableTopicResponse] = []
        for chunk in chunks(range(len(results))):
            part = slice(chunk[0], chunk[-1] + 1)
            failed |= self._note(request, fetches[part], results[part], is_follower)
            await self._clock.checkpoint()
        for told_chunk in chunks(told):
            _add_answers(topics, fetches, results, told_chunk)
            await self._clock.checkpoint()
        response: FetchResponse = _fetch_response(0, 0, context.session_id, topics)
        if failed:
            request.failed = True
            if request.api_version >= _FIRST_WITH_CURRENT_LEADER:
                for refused in chunks(_refused_by_leadership(fetches, results, told, response)):
                    add_current_leaders(self._replica_manager, request.context.listener_name, response, refused)
                    await self._clock.checkpoint()
        return response

    def _note(
        self, request: Request, fetches: list[FetchPartition], results: list[FetchResult], is_follower: bool
    ) -> bool:
        """Update the statistics; return whether there is an error. Error codes unknown to old clients are replaced."""
        topic_stats = self._replica_manager.topic_stats
        stats = topic_stats.followers if is_follower else topic_stats.clients
        failed = False
        for fetch, result in zip(fetches, results, strict=True):
            _count(stats, fetch.topic_partition.topic, result)
            if request.api_version < _FIRST_WITH_STORAGE_ERROR and result.error is Errors.KAFKA_STORAGE_ERROR:
                result.error = Errors.NOT_LEADER_OR_FOLLOWER  # known to the client, which retries
            if result.error is not _NONE:
                failed = True
        return failed

    async def _convert_for_old_client(self, context: FetchContext, results: list[FetchResult], magic: int) -> None:
        """Convert the records for clients older than 0.11, which know older message formats only."""
        for fetch, result in zip(context.fetches, results, strict=True):
            try:
                await self._down_convert(fetch, result, magic)
            except KafkaError as problem:
                result.error, result.high_watermark, result.records = problem.error, -1, None
            except Exception:
                log.exception("Cannot convert records of %s", fetch.topic_partition)
                result.error, result.high_watermark, result.records = Errors.UNKNOWN_SERVER_ERROR, -1, None

    async def _down_convert(self, fetch: FetchPartition, result: FetchResult, magic: int) -> None:
        """Convert if the topic's config says that the log's format is newer, as in Kafka: records in an older format
        are rewritten needlessly, and newer ones are sent unchanged."""
        records = result.records
        local = self._replica_manager.partition(fetch.topic_partition)
        if not isinstance(records, FileRecords) or local is None or local.log is None:
            return
        if local.log.config.record_version > magic:
            converted = DownConvertedRecords(records, magic, fetch.fetch_offset, self._conversions)
            await converted.begin()
            result.records = converted


class _FollowerFetch:
    """A follower's fetch within a session: only active partitions are read, both at first and after notifications."""

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

    async def answer(self) -> FetchResponse:
        params, replica_manager = self._params, self._replica_manager
        progressed: list[TopicPartition] = []
        cold: list[ColdRead] = []
        results = self._read(progressed, cold)
        if cold:
            await replica_manager.look_up(cold)
            self._look_again()
            results = self._read(progressed)
        if params.max_wait_ms > 0 and not is_enough(params, results):
            await self._wait(results, progressed)
            if self._request.cancelled:
                return FetchResponse()
            self._look_again()
            results, progressed = self._read(), []
        self._handler.record_throttled(self._context.fetches, results)
        self._handler.record_exempt(self._request)
        # No yield between these lines: the response must have the follower's state when its partitions are
        # deactivated.
        told = self._context.select(results)
        self._session.deactivate_caught_up(self._context.fetches, results)
        replica_manager.role_changed(*progressed)
        return await self._handler.response(self._request, self._context, results, told, is_follower=True)

    async def _wait(self, results: list[FetchResult], progressed: list[TopicPartition]) -> None:
        """Wait until there is enough data, or for the time-out."""
        session, replica_manager, fetches = self._session, self._replica_manager, self._context.fetches
        session.deactivate_caught_up(fetches, results)
        waiting = [(f, r.start) for f, r in zip(fetches, results, strict=True) if r.start is not None]
        woken: Completion[None] = Completion()
        operation = DelayedFetch(self._params, waiting, replica_manager, lambda: woken.set_result(None))
        session.waiting = operation
        replica_manager.fetch_purgatory.try_complete_else_watch(
            operation, [fetch.topic_partition for fetch in session.active.values()]
        )
        replica_manager.role_changed(*progressed)
        await woken
        if session.waiting is operation:
            session.waiting = None

    def _look_again(self) -> None:
        self._context.fetches = list(self._session.active.values())

    def _read(
        self, progressed: list[TopicPartition] | None = None, cold: list[ColdRead] | None = None
    ) -> list[FetchResult]:
        errors = [self._handler.refusal(self._request, fetch, True) for fetch in self._context.fetches]
        readable = [fetch for fetch, error in zip(self._context.fetches, errors, strict=True) if error is None]
        remaining = iter(self._replica_manager.read_from_log(self._params, readable, progressed, cold))
        return [next(remaining) if error is None else _refused(error) for error in errors]


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


def _refused_by_leadership(
    fetches: list[FetchPartition], results: list[FetchResult], told: list[int], response: FetchResponse
) -> Iterator[tuple[TopicPartition, FetchResponse.PartitionData]]:
    answers = (answer for topic in response.responses for answer in topic.partitions)
    for index, answer in zip(told, answers, strict=True):
        if results[index].error in _ERRORS_OF_LEADERSHIP:
            yield fetches[index].topic_partition, answer


def _refused(error: Errors) -> FetchResult:
    result = FetchResult(error)
    result.aborted_transactions = []
    if error is Errors.UNSUPPORTED_COMPRESSION_TYPE:
        result.records = None  # as Apache's brokers respond for this error only
    return result


def _count(stats: StatsByTopic, topic: str, result: FetchResult) -> None:
    of_topic = stats[topic] if result.error is _NONE else stats.existing_or_others(topic)
    of_topic.fetches += 1
    of_topic.bytes_out += result.size


def _newest_magic(version: int) -> int:
    """Return the newest message format that a response of this version may contain."""
    if version >= _FIRST_WITH_MAGIC_2:
        return 2
    return 1 if version >= _FIRST_WITH_MAGIC_1 else 0


def _add_answers(
    topics: list[FetchResponse.FetchableTopicResponse],
    fetches: list[FetchPartition],
    results: list[FetchResult],
    told: Sequence[int],
) -> None:
    """Append the results to `topics`: successive partitions of a topic share one entry, including the last existing
    one."""
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
