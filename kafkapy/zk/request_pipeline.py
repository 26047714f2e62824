"""Requests that are repeated after a lost connection, and writes that only the current controller can do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    Response,
    Write,
)
from kafkapy.zk.zk_data import ControllerEpochZNode
from kafkapy.zk.zookeeper_client import ZooKeeperClient

MATCH_ANY_VERSION = -1
MAX_OPS_OF_MULTI = 50
"""A multi is one transaction: the server logs it as a whole, and if one write fails all of them are repeated one by
one.
"""
MAX_BYTES_OF_MULTI = 256 * 1024
"""ZooKeeper's limit is 1 MB (jute.maxbuffer)."""
MIN_PATHS_OF_MULTI_READ = 4
"""Fewer paths are read with single requests, which are pipelined, too."""


class RequestPipeline:
    """Blocking requests over a `ZooKeeperClient`; safe to use from several threads."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._multi_read_works = True
        self._time_limit = threading.local()

    @contextmanager
    def time_limit(self, timeout_ms: int) -> Iterator[None]:
        """Limit how long requests of this thread wait for a lost connection within the block; then
        `ZooKeeperClientTimeoutError` is raised. Requests that the server has received are executed nevertheless.
        """
        self._time_limit.deadline = time.monotonic() + timeout_ms / 1000
        try:
            yield
        finally:
            self._time_limit.deadline = None

    def _wait_until_connected(self) -> None:
        deadline: float | None = getattr(self._time_limit, "deadline", None)
        remaining_ms = None if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
        self._client.wait_until_connected(remaining_ms)

    def answers_to(self, requests: Sequence[Request]) -> list[Response]:
        """Return the answers in order. Requests that were in flight when the connection was lost are repeated on the
        next one.

        Raises only `SessionExpiredError`, `ZooKeeperClientClosedError` and, within `time_limit`,
        `ZooKeeperClientTimeoutError`.
        """
        responses = self._client.handle_requests(requests)
        while lost := [i for i, r in enumerate(responses) if isinstance(r.error, ConnectionLossError)]:
            self._wait_until_connected()
            again = self._client.handle_requests([requests[i] for i in lost])
            for index, response in zip(lost, again, strict=True):
                responses[index] = response
        return responses

    def answer_to(self, request: Request) -> Response:
        """Return the answer to one request, including its error."""
        return self.answers_to([request])[0]

    def data_of(self, paths: Sequence[str]) -> list[Response]:
        """Do `GetData` of each path. Paths without a registered handler share requests, if the server supports that."""
        alone = {path for path in paths if self._client.has_znode_change_handler(path)}
        shared = [path for path in paths if path not in alone]
        if not self._multi_read_works or len(shared) < MIN_PATHS_OF_MULTI_READ:
            return self.answers_to([GetData(path) for path in paths])
        answers: dict[str, Response] = {}
        slices = [shared[i : i + MAX_OPS_OF_MULTI] for i in range(0, len(shared), MAX_OPS_OF_MULTI)]
        for slice_, response in zip(slices, self.answers_to([MultiRead(tuple(s)) for s in slices]), strict=True):
            if isinstance(response.error, UnimplementedError):
                self._multi_read_works = False
                return self.data_of(paths)
            results = [response] * len(slice_) if response.error else response.results
            answers.update(zip(slice_, results, strict=True))
        watched = [path for path in paths if path in alone]
        answers.update(zip(watched, self.answers_to([GetData(path) for path in watched]), strict=True))
        return [answers[path] for path in paths]

    def fenced(self, ops: Sequence[Write], epoch_zk_version: int) -> list[Response]:
        """Do each write only if /controller_epoch has this version; return the writes' answers, in order.

        Raises `ControllerMovedError` if it has another version. MATCH_ANY_VERSION: plain writes.
        """
        if epoch_zk_version == MATCH_ANY_VERSION:
            return self.answers_to(ops)
        moved = f"Controller epoch check failed: /controller_epoch is not at version {epoch_zk_version} any more"
        return self.guarded(ops, Check(ControllerEpochZNode.path, epoch_zk_version), moved)

    def guarded(self, ops: Sequence[Write], check: Check, moved: str, together: int = 1) -> list[Response]:
        """Do each write only if the check holds; return the writes' answers, in order. Groups of `together` writes are
        atomic.

        Many writes share a multi, which is much faster than a multi for each. If one of them fails, so does its whole
        multi: its writes are then repeated one by one, so that each gets its own answer. Raises
        `ControllerMovedError(moved)` if the check fails.
        """
        chunks = _chunks(ops, together)
        answers: list[Response] = []
        for chunk, response in zip(chunks, self._multis(chunks, check, moved), strict=True):
            if len(chunk) == together or (response.results and response.error is None):
                answers += _of_writes(response, len(chunk))
            else:
                alone = [chunk[i : i + together] for i in range(0, len(chunk), together)]
                for single in self._multis(alone, check, moved):
                    answers += _of_writes(single, together)
        return answers

    def _multis(self, chunks: Sequence[Sequence[Write]], check: Check, moved: str) -> list[Response]:
        responses = self.answers_to([Multi((check, *chunk)) for chunk in chunks])
        for response in responses:
            if response.results and isinstance(response.results[0].error, BadVersionError | NoNodeError):
                raise ControllerMovedError(moved)
        return responses

    def create_recursive(self, path: str, data: bytes | None = None, exist_ok: bool = False) -> None:
        """Create a persistent node and its missing parents; `NodeExistsError` unless `exist_ok`."""
        response = self.answer_to(Create(path, data))
        if isinstance(response.error, NoNodeError):
            parent = path.rpartition("/")[0]
            self.create_recursive(parent, exist_ok=True)
            response = self.answer_to(Create(path, data))
        if not (exist_ok and isinstance(response.error, NodeExistsError)):
            response.raise_for_error()

    def ensure_path(self, path: str) -> None:
        """Create a persistent node and its missing parents, unless it exists: then no create permission is needed."""
        response = self.answer_to(Exists(path))
        if isinstance(response.error, NoNodeError):
            self.create_recursive(path, exist_ok=True)
        else:
            response.raise_for_error()

    def delete_recursive(self, path: str, epoch_zk_version: int = MATCH_ANY_VERSION) -> bool:
        """Delete a node and its descendants, deepest first; return False if there was none."""
        paths = [path]
        level = [path]
        while level:
            answers = self.answers_to([GetChildren(p, watch=False) for p in level])
            level = [f"{p}/{child}" for p, r in zip(level, answers, strict=True) for child in sorted(r.children)]
            paths += level
        responses = self.fenced([Delete(p) for p in reversed(paths)], epoch_zk_version)
        for response in responses:
            if not isinstance(response.error, NoNodeError):
                response.raise_for_error()
        return responses[-1].error is None


def _of_writes(response: Response, count: int) -> list[Response]:
    """Return the answers to a multi's writes, which follow that of its check."""
    return response.results[1:] or [response] * count


def _chunks(ops: Sequence[Write], together: int) -> list[list[Write]]:
    """Split into chunks in order, none too large for a multi."""
    chunks: list[list[Write]] = []
    size = 0
    for start in range(0, len(ops), together):
        group = ops[start : start + together]
        group_size = sum(len(op.path) + (0 if isinstance(op, Delete) else len(op.data or b"")) for op in group)
        full = not chunks or len(chunks[-1]) + together > MAX_OPS_OF_MULTI or size + group_size > MAX_BYTES_OF_MULTI
        if full:
            chunks.append([])
            size = 0
        chunks[-1] += group
        size += group_size
    return chunks
