"""Requests that outlive a lost connection, and writes that only the present controller can make."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.zk.errors import (
    BadVersionError,
    ConnectionLossError,
    ControllerMovedError,
    NodeExistsError,
    NoNodeError,
    UnimplementedError,
)
from kafkapy.zk.requests import (
    Check,
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    Response,
    SetData,
)
from kafkapy.zk.zk_data import ControllerEpochZNode
from kafkapy.zk.zookeeper_client import ZooKeeperClient

MATCH_ANY_VERSION = -1
MAX_OPS_OF_MULTI = 50
MAX_BYTES_OF_MULTI = 256 * 1024
"""ZooKeeper takes 1 MB (jute.maxbuffer)."""
MIN_PATHS_OF_MULTI_READ = 4


class RequestPipeline:
    """Blocking requests over a `ZooKeeperClient`; safe to use from several threads."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._multi_read_works = True

    def many(self, requests: Sequence[Request]) -> list[Response]:
        """The answers in order. Whatever was under way when the connection went is sent again once there is one.

        Raises only `SessionExpiredError` and `ZooKeeperClientClosedError`.
        """
        responses = self._client.handle_requests(requests)
        while lost := [i for i, r in enumerate(responses) if isinstance(r.error, ConnectionLossError)]:
            self._client.wait_until_connected()
            again = self._client.handle_requests([requests[i] for i in lost])
            for index, response in zip(lost, again, strict=True):
                responses[index] = response
        return responses

    def one(self, request: Request) -> Response:
        """The answer to one request, its error inside."""
        return self.many([request])[0]

    def data_of(self, paths: Sequence[str]) -> list[Response]:
        """`GetData` of each path. Those without a handler that wants a watch share requests, where the server knows how."""
        alone = {path for path in paths if self._client.has_znode_change_handler(path)}
        shared = [path for path in paths if path not in alone]
        if not self._multi_read_works or len(shared) < MIN_PATHS_OF_MULTI_READ:
            return self.many([GetData(path) for path in paths])
        answers: dict[str, Response] = {}
        slices = [shared[i : i + MAX_OPS_OF_MULTI] for i in range(0, len(shared), MAX_OPS_OF_MULTI)]
        for slice_, response in zip(slices, self.many([MultiRead(tuple(s)) for s in slices]), strict=True):
            if isinstance(response.error, UnimplementedError):
                self._multi_read_works = False
                return self.data_of(paths)
            results = [response] * len(slice_) if response.error else response.results
            answers.update(zip(slice_, results, strict=True))
        watched = [path for path in paths if path in alone]
        answers.update(zip(watched, self.many([GetData(path) for path in watched]), strict=True))
        return [answers[path] for path in paths]

    def fenced(self, ops: Sequence[Create | Delete | SetData], epoch_zk_version: int) -> list[Response]:
        """Each write only if /controller_epoch is at this version; the answers are the writes', in order.

        Many writes share a multi, which is much faster than a multi for each. Where one of them fails, so does its whole multi:
        its writes are then tried one by one, so that each gets its own answer. Raises `ControllerMovedError` if the version is
        another. MATCH_ANY_VERSION: plain writes.
        """
        if epoch_zk_version == MATCH_ANY_VERSION:
            return self.many(ops)
        check = Check(ControllerEpochZNode.path, epoch_zk_version)
        chunks = _chunks(ops)
        answers: list[Response] = []
        for chunk, response in zip(chunks, self.many([Multi((check, *chunk)) for chunk in chunks]), strict=True):
            _raise_if_moved(response, epoch_zk_version)
            if response.results and all(result.error is None for result in response.results):
                answers += response.results[1:]
            elif len(chunk) == 1:
                answers.append(response.results[1] if response.results else response)
            else:
                answers += self._one_by_one(chunk, check)
        return answers

    def _one_by_one(self, ops: Sequence[Create | Delete | SetData], check: Check) -> list[Response]:
        answers = []
        for response in self.many([Multi((check, op)) for op in ops]):
            _raise_if_moved(response, check.version)
            answers.append(response.results[1] if response.results else response)
        return answers

    def create_recursive(self, path: str, data: bytes | None = None, exist_ok: bool = False) -> None:
        """Create a persistent node and the parents it lacks; `NodeExistsError` unless `exist_ok`."""
        response = self.one(Create(path, data))
        if isinstance(response.error, NoNodeError):
            parent = path.rpartition("/")[0]
            self.create_recursive(parent, exist_ok=True)
            response = self.one(Create(path, data))
        if not (exist_ok and isinstance(response.error, NodeExistsError)):
            response.raise_for_error()

    def delete_recursive(self, path: str, epoch_zk_version: int = MATCH_ANY_VERSION) -> bool:
        """Delete a node and all below it, deepest first; False if there was none."""
        paths = [path]
        level = [path]
        while level:
            answers = self.many([GetChildren(p, watch=False) for p in level])
            level = [f"{p}/{child}" for p, r in zip(level, answers, strict=True) for child in sorted(r.children)]
            paths += level
        responses = self.fenced([Delete(p) for p in reversed(paths)], epoch_zk_version)
        for response in responses:
            if not isinstance(response.error, NoNodeError):
                response.raise_for_error()
        return responses[-1].error is None


def _chunks(ops: Sequence[Create | Delete | SetData]) -> list[list[Create | Delete | SetData]]:
    """In order, none too large for a multi."""
    chunks: list[list[Create | Delete | SetData]] = []
    size = 0
    for op in ops:
        op_size = len(op.path) + (0 if isinstance(op, Delete) else len(op.data or b""))
        if not chunks or len(chunks[-1]) == MAX_OPS_OF_MULTI or size + op_size > MAX_BYTES_OF_MULTI:
            chunks.append([])
            size = 0
        chunks[-1].append(op)
        size += op_size
    return chunks


def _raise_if_moved(response: Response, epoch_zk_version: int) -> None:
    if response.results and isinstance(response.results[0].error, BadVersionError | NoNodeError):
        raise ControllerMovedError(
            f"Controller epoch check failed: /controller_epoch is not at version {epoch_zk_version} any more"
        )
