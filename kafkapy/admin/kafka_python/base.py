"""What the operations with kafka-python's interface have in common: its time-outs, and how it reports errors."""

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
    """An operation that goes on for `request_timeout_ms`. What a user names as `timeout_ms` is the broker's time; where the
    controller does the work, ours begins after it."""

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
    """Operations that give what kafka-python's give, over those of the core."""

    def __init__(self, client: NetworkClient) -> None:
        self.client = client
        self.core = AdminCore(client)

    def operation(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
        """One of them with its arguments, to be begun. Raises TypeError for arguments that it does not take."""
        method = getattr(self, name)
        check_lists(method, args, kwargs)
        return partial(method, *args, **kwargs)

    def _call(self, name: str, timeout_ms: float | None = None) -> PythonCall:
        timeout = self.core.request_timeout_ms
        return PythonCall(name, timeout_ms or timeout, int(timeout_ms or timeout), self.client.driver.time)

    def _controller_call(self, name: str, timeout_ms: float | None) -> PythonCall:
        """The controller's time, and then ours."""
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
    """Raise the first one."""
    for result in results.values():
        if isinstance(result, KafkaError):
            raise result


def raise_code(code: int, message: str | None = None) -> None:
    """Raise the exception of an error code that isn't 0."""
    if code:
        raise error_for(code, message)


def raise_first(codes: Iterable[tuple[int, str | None]], ignored: Iterable[int] = ()) -> None:
    skip = {0, *ignored}
    for code, message in codes:
        if code not in skip:
            raise error_for(code, message)


def error_class(error: int | KafkaError | None) -> ErrorClass:
    """`NoError` for success, as kafka-python reports it for one of many."""
    code = error.error.code if isinstance(error, KafkaError) else error
    return for_code(code) if code else NoError


def error_text(part: Any) -> str:
    """ "OK" or the error, as kafka-python writes it."""
    error = failure_of(part)
    return "OK" if error is None else str(error)


def topic_partitions(values: Mapping[Any, T]) -> dict[TopicPartition, T]:
    """Keys may be plain tuples."""
    return {TopicPartition(*key): value for key, value in values.items()}
