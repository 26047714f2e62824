"""Metrics of the audit log: recorded and lost events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkapy.server.metrics.metric import BrokerMetric, Sample, counter
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.security.audit.audit_log import AuditLog


def _of(value: Callable[[AuditLog], int]) -> Callable[[Sources], Sequence[Sample]]:
    return lambda sources: [] if sources.audit is None else [((), value(sources.audit))]


AUDIT_METRICS: tuple[BrokerMetric, ...] = (
    counter(
        "kafkapy_audit_records_total", "",
        "Records that were written to the audit's file or topic, where kafkapy.audit.level is set.",
        _of(lambda audit: audit.written)),
    counter(
        "kafkapy_audit_lost_records_total", "",
        "Records of the audit that are lost: too many waited, or the file or topic could not be written.",
        _of(lambda audit: audit.lost)),
)  # fmt: skip
