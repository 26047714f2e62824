"""Transactions: those coordinated here, pending markers, and hanging transactions in logs."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.coordinator.transaction.transaction_state import STATES
from kafkapy.runtime.chunks import chunks
from kafkapy.server.metrics.metric import BrokerMetric, Sample, counter, gauge, summaries, summary
from kafkapy.server.metrics.sources import Sources

_CHANNELS = "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name={}"
_VERIFICATION = "kafka.server:type=AddPartitionsToTxnManager,name={}"


def _by_state(sources: Sources) -> Iterator[Sample | None]:
    counts = dict.fromkeys(STATES, 0)
    for chunk in chunks(list(sources.transaction_coordinator.transactions.values())):
        for transaction in chunk:
            counts[transaction.metadata.state] += 1
        yield None
    for state, count in counts.items():
        yield (state.value,), count


def _append_retries(sources: Sources) -> float:
    """Return how many completed transactions wait for a retry of the append that records their completion."""
    return sum(transaction.is_end_repeated for transaction in sources.transaction_coordinator.transactions.values())


def _verification_ms(sources: Sources) -> Iterator[Sample]:
    sources.verifier.verification_ms.fold()
    yield (), summary(sources.verifier.verification_ms)


def _queued(sources: Sources) -> Iterator[Sample]:
    for broker_id, markers in sources.marker_channels.queued().items():
        yield (str(broker_id),), markers


TRANSACTION_METRICS: tuple[BrokerMetric, ...] = (
    gauge(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "kafka.server:type=ReplicaManager,name=PartitionsWithLateTransactionsCount",
        "Partitions led here in which a transaction hangs: it has been open for 5 minutes more than transaction.max.timeout.ms "
        "allows. Looked at once a minute; the log names each.",
        lambda s: s.late_transactions.partition_count),
    gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        _CHANNELS.format("UnknownDestinationQueueSize"),
        "Markers for partitions whose leader is not known or has just failed to take them.",
        lambda s: s.marker_channels.waiting_for_leaders),
    gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
        _CHANNELS.format("LogAppendRetryQueueSize"),
        "Transactions whose markers are written, while the write to __transaction_state that says so has failed and is repeated.",
        _append_retries),
    summaries(
        "kafka_server_addpartitionstotxnmanager_verificationtimems",
        _VERIFICATION.format("VerificationTimeMs"),
        "Time for a coordinator's response whether partitions belong to a transaction; 0 if this broker coordinates it.",
        _verification_ms),
    counter(
        "kafka_server_addpartitionstotxnmanager_verificationfailurerate_total",
        _VERIFICATION.format("VerificationFailureRate"),
        "Partitions in which a transaction might not begin, because the coordinator said so or could not be asked.",
        lambda s: s.verifier.failures),
    gauge(
        "kafkapy_transaction_markers_queued", "",
        "Markers that wait for the broker which leads their partitions.", _queued, "broker"),
    gauge(
        "kafkapy_transactional_ids", "",
        "Transactional ids that are coordinated here, by state.", _by_state, "state"),
)  # fmt: skip
