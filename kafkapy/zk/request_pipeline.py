"""Requests that outlive a lost connection, and writes that only the present controller can make."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.zk.errors import BadVersionError, ConnectionLossError, ControllerMovedError, NodeExistsError, NoNodeError
from kafkapy.zk.requests import Check, Create, Delete, GetChildren, Multi, Request, Response, SetData
from kafkapy.zk.zk_data import ControllerEpochZNode
from kafkapy.zk.zookeeper_client import ZooKeeperClient

MATCH_ANY_VERSION = -1


class RequestPipeline:
    """Blocking requests over a `ZooKeeperClient`; safe to use from several threads."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client

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

    def fenced(self, ops: Sequence[Create | Delete | SetData], epoch_zk_version: int) -> list[Response]:
        """Each write in a multi of its own with a check of /controller_epoch's version; the answers are the writes'.

        Raises `ControllerMovedError` if the check of any of them failed. MATCH_ANY_VERSION: plain writes.
        """
        if epoch_zk_version == MATCH_ANY_VERSION:
            return self.many(ops)
        check = Check(ControllerEpochZNode.path, epoch_zk_version)
        answers = []
        for response in self.many([Multi((check, op)) for op in ops]):
            if response.results and isinstance(response.results[0].error, BadVersionError | NoNodeError):
                raise ControllerMovedError(
                    f"Controller epoch check failed: /controller_epoch is not at version {epoch_zk_version} any more"
                )
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
