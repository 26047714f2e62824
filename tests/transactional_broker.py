"""A broker for tests of producers that coordinates transactions."""

from __future__ import annotations

import threading

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafkapy.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from tests.producing_broker import ProducingBroker
from tests.waiting import HANG_SECONDS


class TransactionalBroker(ProducingBroker):
    """Coordinates transactions; EndTxn is answered when `may_end` says so. `ended`: what it was. `refusal`: of commits."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.ended: list[bool] = []
        self.refusal = Errors.NONE
        super().__init__()
        coordinator = FindCoordinatorResponse.Coordinator(key="tx", node_id=0, host="127.0.0.1", port=self.port)
        self.handlers |= {
            ApiKey.FIND_COORDINATOR: lambda _: FindCoordinatorResponse(coordinators=[coordinator]),
            ApiKey.ADD_PARTITIONS_TO_TXN: lambda _: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[]),
            ApiKey.END_TXN: self.end,
        }

    def end(self, request: EndTxnRequest) -> EndTxnResponse:
        assert self.may_end.wait(HANG_SECONDS)
        if request.committed and self.refusal is not Errors.NONE:
            return EndTxnResponse(error_code=self.refusal.code)
        self.ended.append(request.committed)
        return EndTxnResponse()
