"""zookeeper-copy: copies a tree of one ZooKeeper to another, for example from the embedded ZooKeeper to an ensemble."""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkapy.security.jaas_file import JAAS_FILE
from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.common.command_line import ToolError, guard
from kafkapy.tools.zookeeper.tls import tool_security
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import Acls, decode_acls, encode_acls
from kafkapy.zk.embedded.codes import Code
from kafkapy.zk.embedded.jute import INT, Decoder, buffer, string
from kafkapy.zk.embedded.plain_client import PlainAnswer, PlainClient
from kafkapy.zk.reachability import why_unreachable
from kafkapy.zk.session_closer import Session

_STAT = struct.Struct("!qqqqiiiqiiq")
_OWN = "/zookeeper"
"""ZooKeeper's own nodes: quotas and the ensemble's members."""

COUNTERS = frozenset(("/brokers/seqid",))
"""Nodes whose version is their content: the next generated broker.id."""


_ADVICE: Final[dict[int, str]] = {
    Code.NO_AUTH: ": give --auth user:password, the SASL user or the certificate that has the right",
    Code.INVALID_ACL: ": a scheme of its access list is unknown there (sasl needs authProvider.sasl in its properties, x509 a "
    "secureClientPort)",
}


class CopiedNode(NamedTuple):
    """A node. `path`: without the chroot. `owner`: the session of an ephemeral node, or 0."""

    path: str
    data: bytes | None
    acls: Acls
    version: int
    owner: int


class CopyPlace:
    """A ZooKeeper and a chroot in it."""

    def __init__(self, connect: str, auth: list[str], security: ZkClientSecurity = PLAINTEXT) -> None:
        """Connect. Raises ToolError if the server does not answer or refuses the user. `auth`: `user:password`s of
        the scheme digest."""
        self.connect = connect
        servers, slash, chroot = connect.partition("/")
        self.chroot = f"/{chroot.rstrip('/')}" if slash and chroot.strip("/") else ""
        try:
            self.client = PlainClient(Session(0, b"", 0, servers).addresses(), security=security)
        except ValueError:
            raise ToolError(f"{connect}: host:port[,host:port]...[/chroot] is expected") from None
        except OSError:
            raise ToolError(f"No ZooKeeper can be reached: {why_unreachable(connect, security=security)}") from None
        for each in auth:
            if not self.client.authenticate(each):
                raise ToolError(f"{connect} refuses the authentication of {each.partition(':')[0]}")

    def full(self, path: str) -> str:
        return (self.chroot + path if path != "/" else self.chroot) or "/"

    def check(self, answer: PlainAnswer, path: str, *allowed: Code) -> PlainAnswer:
        if answer.code not in (0, *allowed):
            name = Code(answer.code).name if answer.code in Code.__members__.values() else str(answer.code)
            raise ToolError(f"{self.connect}: {self.full(path)}: {name}{_ADVICE.get(answer.code, '')}")
        return answer


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(
        "zookeeper-copy", "Copy the nodes of one ZooKeeper, with data and access lists, to another one."
    )
    parser.add_argument("source", metavar="FROM", help="host:port[,host:port]...[/chroot]")
    parser.add_argument(
        "target", metavar="TO", help="host:port[,host:port]...[/chroot]; a chroot is made if it is missing"
    )
    parser.add_argument(
        "--auth",
        action="append",
        default=[],
        metavar="USER:PASSWORD",
        help="authenticate with the scheme digest, on both sides",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="copy although sessions have nodes in FROM: brokers that run go on changing it",
    )
    for side, place in (("from", "FROM"), ("to", "TO")):
        parser.add_argument(
            f"--{side}-zk-tls-config-file",
            metavar="FILE",
            help=f"a properties file with zookeeper.ssl.* that says how to speak to {place} over TLS",
        )
        parser.add_argument(
            f"--{side}-jaas-section",
            metavar="NAME",
            help=f"the section of the JAAS file (KAFKA_OPTS=-D{JAAS_FILE}=...) with the SASL user for {place}; "
            "default: Client, if there is one; an empty name: without SASL",
        )
    return guard(lambda: copy(parser.parse_args(sys.argv[1:] if argv is None else argv)))


def copy(given: argparse.Namespace) -> None:
    source_security = tool_security(given.from_zk_tls_config_file, given.from_jaas_section)
    target_security = tool_security(given.to_zk_tls_config_file, given.to_jaas_section)
    source = CopyPlace(given.source, given.auth, source_security)
    try:
        nodes = list(read_tree(source))
        temporary = [node.path for node in nodes if node.owner]
        if temporary and not given.live:
            raise ToolError(
                f"{source.connect} has {len(temporary)} ephemeral nodes, such as {temporary[0]}: their clients still run. "
                "Stop the brokers and wait until their sessions have ended, or give --live."
            )
        target = CopyPlace(given.target, given.auth, target_security)
        try:
            created = write_tree(target, [node for node in nodes if not node.owner])
        finally:
            target.client.close()
    finally:
        source.client.close()
    print(
        f"Copied {created} nodes from {given.source} to {given.target}; {len(nodes) - len(temporary) - created} were there "
        f"already, {len(temporary)} ephemeral ones were left out."
    )


def read_tree(place: CopyPlace) -> Iterator[CopiedNode]:
    """The nodes level by level, so that parents come first. A node that is deleted meanwhile is omitted."""
    level = ["/"]
    while level:
        requests = []
        for path in level:
            full = string(place.full(path))
            requests += [(codes.GET_DATA, full + b"\0"), (codes.GET_ACL, full), (codes.GET_CHILDREN, full + b"\0")]
        answers = place.client.ask_all(requests)
        below: list[str] = []
        for path, data, acls, children in zip(level, answers, answers, answers, strict=True):
            is_root = path == "/"
            for answer in (data, acls, children):
                place.check(answer, path, *(() if is_root else (Code.NO_NODE,)))
            if data.code or acls.code or children.code:
                continue
            decoder = Decoder(data.body)
            contents = decoder.buffer()
            stat = _STAT.unpack(decoder.take(_STAT.size))
            yield CopiedNode(path, contents, decode_acls(Decoder(acls.body)), stat[4], stat[7])
            decoder = Decoder(children.body)
            paths = [f"{'' if is_root else path}/{name}" for name in decoder.vector(decoder.string)]
            below += [each for each in paths if place.full(each) != _OWN]
        level = below


def write_tree(place: CopyPlace, nodes: list[CopiedNode]) -> int:
    """Create the nodes; returns their number. A node that exists must be equal, so that an interrupted copy can be
    completed."""
    _make_chroot(place, nodes[0])
    created = 0
    counters: list[tuple[CopiedNode, int]] = []
    rest = [node for node in nodes if node.path != "/"]
    for node, answer in zip(
        rest, place.client.ask_all((codes.CREATE, _create(place.full(node.path), node)) for node in rest), strict=True
    ):
        place.check(answer, node.path, Code.NODE_EXISTS)
        created += answer.code == 0
    for node, answer in zip(
        rest,
        place.client.ask_all((codes.GET_DATA, string(place.full(node.path)) + b"\0") for node in rest),
        strict=True,
    ):
        decoder = Decoder(place.check(answer, node.path).body)
        if decoder.buffer() != node.data:
            raise ToolError(
                f"{place.connect}: {place.full(node.path)} is there with other data: choose an empty chroot"
            )
        if node.path in COUNTERS:
            counters.append((node, _STAT.unpack(decoder.take(_STAT.size))[4]))
    for node, version in counters:
        _count_up(place, node, version)
    return created


def _make_chroot(place: CopyPlace, root: CopiedNode) -> None:
    """Create the chroot. Its last node gets the content of the source's root."""
    names = place.chroot.split("/")[1:]
    for depth in range(1, len(names) + 1):
        data = root.data if depth == len(names) else None
        path = "/" + "/".join(names[:depth])
        made = place.client.ask(codes.CREATE, _create(path, root._replace(data=data)))
        if made.code not in (0, Code.NODE_EXISTS):
            raise ToolError(f"{place.connect}: {path} can't be made: error {made.code}")


def _count_up(place: CopyPlace, node: CopiedNode, version: int) -> None:
    body = string(place.full(node.path)) + buffer(node.data) + INT.pack(-1)
    for answer in place.client.ask_all((codes.SET_DATA, body) for _ in range(node.version - version)):
        place.check(answer, node.path)


def _create(path: str, node: CopiedNode) -> bytes:
    return string(path) + buffer(node.data) + encode_acls(node.acls) + INT.pack(0)


if __name__ == "__main__":
    sys.exit(main())
