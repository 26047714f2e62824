"""Lists, ends and fences transactions of other processes by id, on the driver of the exactly-once sink."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import Answer, Results, error_of
from kafkapy.admin.router import TRANSACTION, Router
from kafkapy.admin.types import TransactionDescription, TransactionState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.spark.kafka_params import SECURITY, KafkaParams
from kafkapy.spark.sink_decision import Prepared

_log = logging.getLogger("kafkapy.spark")

_ONE_BY_ONE = 1 << 15
_SOON_SECONDS = 0.02
"""Retry delay after CONCURRENT_TRANSACTIONS: markers of the last transaction are being written."""
_END_TXN_VERSION = 4
_INIT_PRODUCER_ID_VERSION = 5


class SinkTransactions(AdminClient):
    """An admin client that can also end another producer's transaction."""

    def __init__(self, bootstrap_servers: str, **options: Any) -> None:
        super().__init__(bootstrap_servers, **options)
        self._router = Router(self._client, self.default_api_timeout_ms)

    def open_transactions(self, prefix: str) -> list[str]:
        """Return transactional ids with this prefix whose transaction is open. Brokers that do not respond are
        skipped."""
        found: list[str] = []
        for node, listed in self.list_transactions(states=[TransactionState.ONGOING]).items():
            if isinstance(listed, KafkaError):
                _log.warning("Broker %d does not list its transactions: %s", node, listed)
            else:
                found += [one.transactional_id for one in listed if one.transactional_id.startswith(prefix)]
        return found

    def described(self, prepared: Iterable[Prepared]) -> Results[str, TransactionDescription]:
        ids = [one.transactional_id for one in prepared]
        return self.describe_transactions(ids) if ids else {}

    def end(self, prepared: Iterable[Prepared], committed: bool) -> Results[Prepared, None]:
        """Commit or abort each; one that has already ended that way is no error. Return for each: None, or the
        error."""
        by_id = {one.transactional_id: one for one in prepared}

        def request(ids: list[str]) -> EndTxnRequest:
            (name,) = ids
            return EndTxnRequest(
                transactional_id=name,
                producer_id=by_id[name].producer_id,
                producer_epoch=by_id[name].epoch,
                committed=committed,
            )

        results = self._ask("endTransaction", by_id, request, _END_TXN_VERSION)
        return {by_id[name]: result for name, result in results.items()}

    def fence(self, transactional_ids: Iterable[str], timeout_ms: int) -> Results[str, None]:
        """Fence the producers of these ids, which aborts their open transactions (Kafka's `fenceProducers`)."""

        def request(ids: list[str]) -> InitProducerIdRequest:
            return InitProducerIdRequest(transactional_id=ids[0], transaction_timeout_ms=timeout_ms)

        return self._ask("fenceProducers", transactional_ids, request, _INIT_PRODUCER_ID_VERSION)

    def _ask(
        self, name: str, ids: Iterable[str], request: Callable[[list[str]], Any], max_version: int
    ) -> Results[str, None]:
        left = list(ids)
        results: Results[str, None] = {}
        if not left:
            return results
        answers = self._run(partial(_ended, self._router, name, left, request, max_version))
        for key, answer in answers.items():
            results[key] = answer if isinstance(answer, KafkaError) else error_of(answer.response.error_code)
        return results


async def _ended(
    router: Router, name: str, ids: list[str], request: Callable[[list[str]], Any], max_version: int
) -> Results[str, Answer[Any]]:
    """End all ids; repeat for those whose previous markers are still being written, until the call times out."""
    call = router.call(name)
    results: Results[str, Answer[Any]] = {}
    left = ids
    while True:
        results |= await router.on_coordinators(
            call,
            left,
            request,
            lambda keys, response: {keys[0]: response},
            kind=TRANSACTION,
            one_by_one_below=_ONE_BY_ONE,
            max_version=max_version,
        )
        left = [key for key in left if _is_concurrent(results[key])]
        if not left or call.remaining_ms <= 0:
            return results
        await router.client.driver.sleep(1000 * _SOON_SECONDS)


def _is_concurrent(answer: Answer[Any] | KafkaError) -> bool:
    return not isinstance(answer, KafkaError) and answer.response.error_code == Errors.CONCURRENT_TRANSACTIONS.code


def transactions_of(params: KafkaParams) -> SinkTransactions:
    return SinkTransactions(
        params["bootstrap.servers"],
        client_id=params["client.id"] or "kafkapy-spark-sink",
        request_timeout_ms=params["request.timeout.ms"],
        retry_backoff_ms=params["retry.backoff.ms"],
        retry_backoff_max_ms=params["retry.backoff.max.ms"],
        socket_connection_setup_timeout_ms=params["socket.connection.setup.timeout.ms"],
        **params[SECURITY],
    )
