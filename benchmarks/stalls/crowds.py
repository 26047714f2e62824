"""Many clients: connections, groups, offsets."""

from __future__ import annotations

import asyncio
import resource
import select
import socket
import struct
import time
from typing import Any

from benchmarks.brokers import Server
from benchmarks.stalls.client import batch, make_topic, produce_request, values
from benchmarks.stalls.measure import Scenario
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest


class Connections(Scenario):
    """Ten thousand connections, a fifth of which produce a record each second."""

    topic = "stalls-connections"
    connections = 10_000
    producing = 2_000
    seconds = 5

    def __init__(self, name: str, phase: str) -> None:
        """`phase`: which of "open", "produce" and "close" is measured."""
        self.name = name
        self._phase = phase
        self._open: list[socket.socket] = []

    def prepare(self, server: Server) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        make_topic(server, self.topic, 6, exists=True)
        if self._phase != "open":
            self._connect(server)

    def load(self, server: Server) -> None:
        if self._phase == "open":
            self._connect(server)
        elif self._phase == "produce":
            self._produce()
        else:
            self._close()

    def clean(self, server: Server) -> None:
        self._close()

    def _connect(self, server: Server) -> None:
        for _ in range(self.connections):
            self._open.append(socket.create_connection(("127.0.0.1", server.port), 60))

    def _close(self) -> None:
        for connection in self._open:
            connection.close()
        self._open = []

    def _produce(self) -> None:
        request = produce_request(self.topic, batch(values(1, 100)))
        frame = encode_request(ApiKey.PRODUCE, 9, 1, "stalls-crowd", request)
        answers = select.epoll()
        by_file = {connection.fileno(): connection for connection in self._open[: self.producing]}
        for file in by_file:
            answers.register(file, select.EPOLLIN)
        begin = time.monotonic()
        for second in range(self.seconds):
            for n, connection in enumerate(by_file.values()):
                connection.sendall(frame)
                due = begin + second + n / self.producing
                while (wait := due - time.monotonic()) > 0:
                    for file, _ in answers.poll(wait):
                        by_file[file].recv(65536)
        answers.close()


class Rebalancing(Scenario):
    """Members of many groups join again and again; each time the others have to."""

    name = "500 groups of 3 rebalance"
    groups = 500
    members = 3
    seconds = 8.0

    def load(self, server: Server) -> None:
        asyncio.run(self._all(server))

    async def _all(self, server: Server) -> None:
        end = time.monotonic() + self.seconds
        members = [
            asyncio.create_task(self._member(server, f"stalls-group-{n % self.groups}", end))
            for n in range(self.groups * self.members)
        ]
        await asyncio.wait(members, timeout=self.seconds)
        for member in members:
            member.cancel()
        await asyncio.gather(*members, return_exceptions=True)

    async def _member(self, server: Server, group: str, end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        member_id = ""
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=bytes(100))
        try:
            while time.monotonic() < end:
                join = JoinGroupRequest(
                    group_id=group,
                    session_timeout_ms=10_000,
                    rebalance_timeout_ms=10_000,
                    member_id=member_id,
                    protocol_type="consumer",
                    protocols=[protocol],
                )
                joined = await _ask(reader, writer, join, 3)
                if joined.error_code:
                    await asyncio.sleep(0.1)
                    continue
                member_id = joined.member_id
                assignments = [
                    SyncGroupRequest.SyncGroupRequestAssignment(member_id=m.member_id, assignment=bytes(100))
                    for m in joined.members
                ]
                sync = SyncGroupRequest(
                    group_id=group, generation_id=joined.generation_id, member_id=member_id, assignments=assignments
                )
                await _ask(reader, writer, sync, 2)
                await asyncio.sleep(1)
        finally:
            writer.close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Message, version: int) -> Any:
    api = ApiKey(request.API_KEY)
    writer.write(encode_request(api, version, 1, "stalls-group", request))
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    data = await reader.readexactly(size)
    _, position = ResponseHeader.decode(data, api, version)
    return api.response.decode(data, version, position)


def scenarios() -> list[Scenario]:
    return [
        Connections("10,000 connections are opened", "open"),
        Connections("2,000 of 10,000 connections produce", "produce"),
        Connections("10,000 connections are closed", "close"),
        Rebalancing(),
    ]
