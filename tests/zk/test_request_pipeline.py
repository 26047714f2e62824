"""Writes that only the present controller can make, many in one multi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkapy.zk.errors import BadVersionError, ControllerMovedError, RolledBackError, UnimplementedError
from kafkapy.zk.request_pipeline import MAX_OPS_OF_MULTI, RequestPipeline
from kafkapy.zk.requests import Check, Multi, MultiRead, Request, Response, SetData, Stat


class Tree:
    """Nodes and their versions; a multi is all or nothing, as in ZooKeeper."""

    def __init__(self, epoch_version: int, **versions: int) -> None:
        self.versions = {"/controller_epoch": epoch_version, **{f"/{name}": v for name, v in versions.items()}}
        self.multis: list[int] = []

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        return [self._multi(request) for request in requests if isinstance(request, Multi)]

    def _multi(self, multi: Multi) -> Response:
        self.multis.append(len(multi.ops))
        wrong = [op for op in multi.ops if isinstance(op, Check | SetData) and self.versions[op.path] != op.version]
        if wrong:
            first = multi.ops.index(wrong[0])
            results = [Response(BadVersionError() if i == first else RolledBackError()) for i in range(len(multi.ops))]
            return Response(results[first].error, results=results)
        results = []
        for op in multi.ops:
            if isinstance(op, SetData):
                self.versions[op.path] += 1
            results.append(Response(stat=Stat(0, 0, 0, 0, self.versions[op.path], 0, 0, 0, 0, 0, 0)))
        return Response(results=results)


def pipeline_to(server: Any) -> RequestPipeline:
    """`server` does what the pipeline asks of a client."""
    return RequestPipeline(server)


def writes(count: int, version: int = 0) -> list[SetData]:
    return [SetData(f"/n{index}", b"x", version) for index in range(count)]


def test_many_writes_share_a_multi() -> None:
    tree = Tree(3, **{f"n{index}": 0 for index in range(120)})
    responses = pipeline_to(tree).fenced(writes(120), 3)
    assert [(r.error, r.version) for r in responses] == [(None, 1)] * 120
    assert tree.multis == [MAX_OPS_OF_MULTI + 1, MAX_OPS_OF_MULTI + 1, 21]


def test_one_that_fails_takes_nobody_with_it() -> None:
    tree = Tree(3, n0=0, n1=7, n2=0)
    responses = pipeline_to(tree).fenced(writes(3), 3)
    assert [type(r.error) for r in responses] == [type(None), BadVersionError, type(None)]
    assert (tree.versions["/n0"], tree.versions["/n1"], tree.versions["/n2"]) == (1, 7, 1)


def test_a_controller_that_was_replaced_writes_nothing() -> None:
    tree = Tree(4, n0=0, n1=0)
    with pytest.raises(ControllerMovedError):
        pipeline_to(tree).fenced(writes(2), 3)
    assert tree.versions["/n0"] == 0


def test_large_payloads_are_spread() -> None:
    tree = Tree(3, **{f"n{index}": 0 for index in range(4)})
    pipeline_to(tree).fenced([SetData(f"/n{i}", b"x" * 100_000, 0) for i in range(4)], 3)
    assert tree.multis == [3, 3]


class OldServer:
    """Knows no multiRead, as before ZooKeeper 3.6."""

    def __init__(self, watched: str = "", knows_multi_read: bool = False) -> None:
        self.watched = watched
        self.knows_multi_read = knows_multi_read
        self.requests: list[Request] = []

    def has_znode_change_handler(self, path: str) -> bool:
        return path == self.watched

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        self.requests += requests
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Response:
        if not isinstance(request, MultiRead):
            return Response(data=request.path.encode())
        if not self.knows_multi_read:
            return Response(UnimplementedError())
        return Response(results=[Response(data=path.encode()) for path in request.paths])


PATHS = [f"/n{index}" for index in range(60)]


def test_reads_share_requests_but_for_those_that_are_watched() -> None:
    server = OldServer(watched="/n7", knows_multi_read=True)
    answers = pipeline_to(server).data_of(PATHS)
    assert [a.data for a in answers] == [path.encode() for path in PATHS]
    assert [type(r).__name__ for r in server.requests] == ["MultiRead", "MultiRead", "GetData"]
    assert server.requests[2].path == "/n7"


def test_an_old_server_is_asked_one_by_one() -> None:
    server = OldServer()
    pipeline = pipeline_to(server)
    assert [a.data for a in pipeline.data_of(PATHS)] == [path.encode() for path in PATHS]
    server.requests.clear()
    pipeline.data_of(PATHS)
    assert {type(r).__name__ for r in server.requests} == {"GetData"}
