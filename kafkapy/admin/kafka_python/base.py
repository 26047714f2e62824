"""Common parts of the operations with kafka-python's interface: time-outs and error reporting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from kafkapy.admin.core import AdminCore
from kafkapy.admin.results import Answer, failure_of
from kafkapy.admin.router import Call
from kafkapy.clients.client_apis import api_of
from kafkapy.clients.list_arguments import check_lists
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import BrokerResponseError, NodeNotReadyError, NoError, NoResponseError, error_for, for_code
from kafkapy.protocol.errors import KafkaError

T = TypeVar("T")

ErrorClass = type[BrokerResponseError]


class PythonCall(Call):
    """An operation limited to `request_timeout_ms`.

    The user's `timeout_ms` is the broker's limit; if the controller does the work, the client's limit is added to
    it.
    """

    def __init__(self, name: str, timeout_ms: float, server_timeout_ms: int, time: Time) -> None:
        super().__init__(name, timeout_ms, server_timeout_ms, time)
        self._server_timeout_ms = server_timeout_ms

    @property
    def server_timeout_ms(self) -> int:
        return self._server_timeout_ms

    def timed_out(self, last: KafkaError) -> KafkaError:
        return NoResponseError(f"{self.name} timed out after {self.timeout_ms:g} ms. Its last failure: {last}")

    def no_broker(self, node_id: int) -> KafkaError:
        return NodeNotReadyError(f"There is no live broker with id {node_id}")


class Face:
    """Base class of operations that return kafka-python's results, on top of the core's operations."""

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.core = AdminCore(client)

    def operation(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
        """Return a function that starts the operation with these arguments. Raises TypeError for wrong arguments."""
        method = getattr(self, name)
        check_lists(method, args, kwargs)
        return partial(method, *args, **kwargs)

    def _call(self, name: str, timeout_ms: float | None = None) -> PythonCall:
        timeout = self.core.request_timeout_ms
        return PythonCall(name, timeout_ms or timeout, int(timeout_ms or timeout), self.client.driver.time)

    def _controller_call(self, name: str, timeout_ms: float | None) -> PythonCall:
        """Return a call whose limit is the controller's time plus the client's."""
        timeout = self.core.request_timeout_ms
        total = timeout if timeout_ms is None else timeout_ms + timeout
        return PythonCall(name, total, int(timeout_ms or timeout), self.client.driver.time)

    async def _any(self, request: Any, **versions: int) -> Answer[Any]:
        return await self.core.on_any(self._call(api_of(request.API_KEY).title), request, **versions)

    async def _node(self, node_id: int, request: Any, **versions: int) -> Answer[Any]:
        return await self.core.on_node(self._call(api_of(request.API_KEY).title), node_id, request, **versions)

    async def _broker_ids(self) -> list[int]:
        return sorted((await self.core.retry(self._call("Metadata"), lambda: self.core.refresh(()))).nodes)


def first_error(results: Mapping[Any, Any]) -> None:
    """Raise the first error, if there is one."""
    for result in results.values():
        if isinstance(result, KafkaError):
            raise result


def raise_code(code: int, message: str | None = None) -> None:
    """Raise the exception of an error code; do nothing for 0."""
    if code:
        raise error_for(code, message)


def raise_first(codes: Iterable[tuple[int, str | None]], ignored: Iterable[int] = ()) -> None:
    skip = {0, *ignored}
    for code, message in codes:
        if code not in skip:
            raise error_for(code, message)


def error_class(error: int | KafkaError | None) -> ErrorClass:
    """Return the error's class; `NoError` for success, as in kafka-python's results by key."""
    code = error.error.code if isinstance(error, KafkaError) else error
    return for_code(code) if code else NoError


def error_text(part: Any) -> str:
    """ "OK" or the error, as kafka-python writes it."""
    error = failure_of(part)
    return "OK" if error is None else str(error)


def topic_partitions(values: Mapping[Any, T]) -> dict[TopicPartition, T]:
    """Convert keys that are plain tuples to `TopicPartition`."""
    return {TopicPartition(*key): value for key, value in values.items()}
