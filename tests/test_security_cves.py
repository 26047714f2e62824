"""Attacks that have a number, each against a secured broker over the wire, or against the part that withstands it.

Others have their tests where they belong: decompression bombs (CVE-2026-111073) in `tests/record/test_compression.py`, ACLs of
one resource (CVE-2024-27309) in `tests/server/security/test_acl_authorizer.py`, false servers (CVE-2026-10142, -10143) in
`tests/clients/test_false_servers.py`, unsigned tokens (CVE-2026-33557) in `tests/security/sasl/test_listener_mechanisms.py`.
"""

from __future__ import annotations

import ast
import base64
import hmac
import socket
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest

import kafkapy
from kafkapy.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion
from kafkapy.admin.acl_types import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafkapy.clients.java_security import sasl_arguments
from kafkapy.common.free_ports import free_ports
from kafkapy.errors import KafkaConfigurationError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkapy.record.records_builder import encode_batch
from kafkapy.security import scram
from kafkapy.security.jaas import JaasConfigError, check_allowed, parse_jaas_config
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError
from kafkapy.security.sasl.plain_server import PlainServer, PlainUsers
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = [pytest.mark.integration]

MAKE_CODE = {"protocol/source.py", "protocol/schema.py"}
"""Codecs are made of the schemas that lie beside them."""

ALICE, ADMIN = ("alice", "alice-secret"), ("admin", "admin-secret")
TOPIC = "cve"


class Secured:
    """A broker with SASL_PLAINTEXT and ACLs. alice may read and write the topic, and nothing else; admin may do everything."""

    def __init__(self, directory: Path, zookeeper: str) -> None:
        self.port = free_ports(1)[0]
        self.process = BrokerProcess(
            directory,
            f"{zookeeper}/{uuid.uuid4().hex[:12]}",
            **{
                "listeners": f"IN://127.0.0.1:{self.port}",
                "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
                "inter.broker.listener.name": "IN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
                "listener.name.in.plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required "
                    'username="admin" password="admin-secret" user_admin="admin-secret" user_alice="alice-secret";'
                ),
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": "User:admin",
            },
        )

    def prepare(self) -> None:
        admin: Any = KafkaAdminClient(
            bootstrap_servers=f"127.0.0.1:{self.port}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username=ADMIN[0],
            sasl_plain_password=ADMIN[1],
        )
        admin.create_topics([TOPIC])
        pattern = ResourcePattern(ResourceType.TOPIC, TOPIC)
        admin.create_acls(
            [
                ACL("User:alice", "*", operation, ACLPermissionType.ALLOW, pattern)
                for operation in (ACLOperation.READ, ACLOperation.WRITE)
            ]
        )
        admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("alice", ScramMechanism.SCRAM_SHA_256, ALICE[1])]
        )
        admin.close()

    def connect(self, user: tuple[str, str] | None = ALICE) -> Line:
        line = Line(self.port)
        if user is not None:
            assert line.authenticate("PLAIN", f"\0{user[0]}\0{user[1]}".encode()).error_code == 0
        return line


class Line:
    """A connection that says what it likes."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def call(self, message: Message, version: int) -> Any:
        api_key = ApiKey(message.API_KEY)
        self.socket.sendall(encode_request(api_key, version, 7, "attacker", message))
        frame = self._exactly(struct.unpack(">i", self._exactly(4))[0])
        _, position = ResponseHeader.decode(frame, api_key, version)
        return api_key.response.decode(frame, version, position)

    def authenticate(self, mechanism: str, token: bytes) -> Any:
        assert self.call(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == 0
        return self.call(SaslAuthenticateRequest(auth_bytes=token), 2)

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the broker has hung up"
            data += more
        return data


@pytest.fixture(scope="module")
def secured(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("cves"), zookeeper)
    made.process.start()
    made.prepare()
    wait_until(lambda: produce(made, transactional=False) == Errors.NONE)  # the ACLs are known by a notification
    yield made
    assert made.process.stop() == 0
    log = made.process.log()
    assert " ERROR " not in log and "Traceback" not in log
    assert "-secret" not in log


def produce(secured: Secured, transactional: bool, transactional_id: str | None = None) -> Errors:
    record = bytes([14, 0, 0, 0, 1, 2, ord("v"), 0])
    batch = encode_batch(
        record,
        base_offset=0,
        last_offset_delta=0,
        record_count=1,
        attributes=0x10 if transactional else 0,
        base_timestamp=0,
        max_timestamp=0,
        **({"producer_id": 77, "producer_epoch": 0, "base_sequence": 0} if transactional else {}),
    )
    partition = ProduceRequest.PartitionProduceData(index=0, records=memoryview(batch))
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[partition])
    request = ProduceRequest(transactional_id=transactional_id, acks=1, timeout_ms=5000, topic_data=[topic])
    with secured.connect() as line:
        answer = line.call(request, 9)
    return Errors.for_code(answer.responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("transactional_id", [None, "another's"])
def test_cve_2018_17196_a_transactional_batch_needs_the_right_to_its_id(
    secured: Secured, transactional_id: str | None
) -> None:
    """The request does not say that it is transactional; its batch does."""
    assert produce(secured, True, transactional_id) is Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_cve_2018_1288_only_a_broker_fetches_as_one(secured: Secured) -> None:
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    for replica_id, expected in ((-1, Errors.NONE), (0, Errors.TOPIC_AUTHORIZATION_FAILED)):
        topics = [FetchRequest.FetchTopic(topic=TOPIC, partitions=[partition])]
        request = FetchRequest(replica_id=replica_id, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics)
        with secured.connect() as line:
            answer = line.call(request, 11)
        assert Errors.for_code(answer.responses[0].partitions[0].error_code) is expected


@pytest.mark.parametrize(
    ("mechanism", "token"),
    [("PLAIN", b"admin\0alice\0alice-secret"), ("SCRAM-SHA-256", b"n,a=admin,n=alice,r=x")],
)
def test_cve_2017_12610_nobody_acts_for_another(secured: Secured, mechanism: str, token: bytes) -> None:
    with secured.connect(None) as line:
        answer = line.authenticate(mechanism, token)
        assert Errors.for_code(answer.error_code) is Errors.SASL_AUTHENTICATION_FAILED
        assert "authorization id that is different from username" in answer.error_message
        assert line.is_closed()


def test_cve_2024_56128_an_old_proof_is_of_no_use(secured: Secured) -> None:
    """The proof fits; the nonce in the final message is another conversation's."""
    with secured.connect(None) as line:
        first = line.authenticate("SCRAM-SHA-256", b"n,,n=alice,r=x").auth_bytes.decode()
        parsed = scram.parse_server_first(first.encode())
        salted = scram.salted_password("sha256", ALICE[1], parsed.salt, parsed.iterations)
        client_key = scram.client_key("sha256", salted)
        final = "c=biws,r=xANOTHER"
        said = scram.signature("sha256", scram.stored_key("sha256", client_key), f"n=alice,r=x,{first},{final}")
        proof = base64.b64encode(scram.xor(client_key, said)).decode()
        answer = line.call(SaslAuthenticateRequest(auth_bytes=f"{final},p={proof}".encode()), 2)
        assert Errors.for_code(answer.error_code) is Errors.SASL_AUTHENTICATION_FAILED
        assert line.is_closed()


def test_cve_2022_34917_memory_is_not_made_for_what_is_announced(secured: Secured) -> None:
    assert secured.process.process is not None
    process = psutil.Process(secured.process.process.pid)
    before = process.memory_info().rss
    opened = []
    for _ in range(300):  # of 512 KB each: 150 MB are announced
        line = secured.connect(None)
        line.socket.sendall(
            struct.pack(">ihhih", 524_288, int(ApiKey.SASL_AUTHENTICATE), 2, 1, -1) + b"\xff\xff\xff\xff\x07"
        )
        opened.append(line)
    with secured.connect() as line:  # what came before was read
        assert line.socket
    assert process.memory_info().rss - before < 50 << 20
    for line in opened:
        line.socket.close()


@pytest.mark.parametrize(
    "body",
    [
        struct.pack(">i", 0x7FFFFFFF),  # of Metadata v0: names of topics
        struct.pack(">h", 0x7FFF),
    ],
)
def test_cve_2026_111108_counts_are_bounded_by_what_has_come(secured: Secured, body: bytes) -> None:
    """Array lengths, and (CVE-2026-111115) tagged fields, before and after the authentication."""
    for user in (None, ALICE):
        with secured.connect(user) as line:
            header = struct.pack(">hhih", int(ApiKey.METADATA), 0, 1, -1)
            line.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            assert line.is_closed()
    tags = struct.pack(">hhih", int(ApiKey.METADATA), 9, 1, -1) + b"\xff\xff\xff\xff\x0f"
    with secured.connect() as line:
        line.socket.sendall(struct.pack(">i", len(tags)) + tags)
        assert line.is_closed()


def test_cve_2021_38153_credentials_are_compared_in_constant_time() -> None:
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(len(one))
        return bytes(one) == bytes(other)

    credential = scram.ScramCredential.of_password("sha256", "right", b"salt", 4096)
    for user in ("alice", "nobody"):
        plain = PlainServer(PlainUsers({"alice": "right"}))
        scram_server = ScramServer(
            "SCRAM-SHA-256",
            {"alice": credential}.get,
            None,
            DecoyCredentials(b"s"),
            lambda: "server",
            None,  # type: ignore[arg-type]
        )
        scram_server.evaluate(f"n,,n={user},r=x".encode())
        with patch.object(hmac, "compare_digest", compare):
            with pytest.raises(SaslAuthenticationError, match="Invalid username or password"):
                plain.evaluate(f"\0{user}\0wrong".encode())
            with pytest.raises(SaslExchangeError, match="Invalid client credentials"):
                scram_server.evaluate(b"c=biws,r=xserver,p=" + base64.b64encode(bytes(32)))
    assert compared == [32, 7, 32] * 2  # digests of passwords, a nonce, keys: as many for a user that does not exist


def alter(line: Line, resource_type: int, name: str, config: str, value: str) -> Any:
    change = IncrementalAlterConfigsRequest.AlterableConfig(name=config, config_operation=0, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=resource_type, resource_name=name, configs=[change]
    )
    return line.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]


@pytest.mark.parametrize("module", ["JndiLoginModule", "LdapLoginModule"])
def test_cve_2023_25194_modules_that_look_names_up_are_not_taken(secured: Secured, module: str) -> None:
    """CVE-2025-27818 too; neither in a client's config, nor in one that is sent to a broker."""
    text = f'com.sun.security.auth.module.{module} required user.provider.url="ldap://127.0.0.1:1/x";'
    with pytest.raises(JaasConfigError, match="is not allowed"):
        check_allowed(parse_jaas_config(text), "sasl.jaas.config")
    with pytest.raises(KafkaConfigurationError, match=f"{module} is not supported"):
        sasl_arguments({"sasl.mechanism": "PLAIN", "sasl.jaas.config": text})
    name = "listener.name.in.plain.sasl.jaas.config"
    with secured.connect(ADMIN) as line:
        assert alter(line, 4, "0", name, text).error_code != 0


def test_cve_2024_31141_a_value_names_no_file_and_no_variable(secured: Secured) -> None:
    """Config providers would read what the broker's user may read; a value stays what it is."""
    value = "${file:/etc/passwd:root}"
    with secured.connect(ADMIN) as line:
        for answer in (alter(line, 2, TOPIC, "retention.ms", value), alter(line, 4, "0", "log.retention.ms", value)):
            assert answer.error_code != 0
            assert "root:x" not in answer.error_message
        resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=4, resource_name="0")
        configs = line.call(DescribeConfigsRequest(resources=[resource]), 4).results[0].configs
    assert configs
    assert not any("root:x" in (config.value or "") for config in configs)


def test_cve_2023_52251_nothing_is_evaluated() -> None:
    """No `eval`, no `exec` of what a peer has sent (CVE-2026-5562, too): the modules that make code make it of schemas."""
    root = Path(kafkapy.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("eval", "exec"):
                found.add(path.relative_to(root).as_posix())
    assert found <= MAKE_CODE, found - MAKE_CODE
