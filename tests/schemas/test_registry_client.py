from __future__ import annotations

import base64
import pickle
import socket
import ssl
import threading
from pathlib import Path

import pytest

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas import (
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    SchemaRegistryUnavailableError,
)
from kafkapy.schemas.http_transport import HttpTransport, RegistryNode, RetryPolicy
from tests.schemas.registry_server import RegistryServer, running_registry
from tests.tls_broker import make_certificate

LONG = Schema('"long"')
STRING = Schema('"string"')


def record(*fields: str) -> Schema:
    return Schema('{"type":"record","name":"R","fields":[' + ",".join(fields) + "]}")


A = record('{"name":"a","type":"long"}')
A_AND_B = record('{"name":"a","type":"long"}', '{"name":"b","type":"long"}')


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def test_schemas_are_registered_and_found_again(registry: SchemaRegistryClient) -> None:
    assert registry.register_schema("t-value", LONG) == 1
    assert registry.register_schema("t-key", STRING) == 2
    assert registry.register_schema("u-value", LONG) == 1
    assert registry.get_schema(1) == LONG
    found = registry.lookup_schema("t-value", LONG)
    assert found[:4] == ("t-value", 1, 1, LONG)
    assert registry.get_latest_version("t-value") == found
    assert registry.get_version("t-value", 1) == registry.get_version("t-value", "latest") == found
    assert found.guid is not None
    assert registry.get_schema_by_guid(found.guid) == LONG
    assert registry.get_subjects() == ["t-value", "t-key", "u-value"]
    assert registry.get_subjects("t-") == ["t-value", "t-key"]
    assert registry.get_subjects_by_schema_id(1) == ["t-value", "u-value"]
    assert registry.get_schema_versions(1) == [("t-value", 1), ("u-value", 1)]
    assert registry.get_schema_types() == ["JSON", "PROTOBUF", "AVRO"]


def test_what_does_not_change_is_asked_for_once(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    registry.register_schema("s", LONG)
    asked = len(server.state.requests)
    registry.register_schema("s", LONG)
    assert len(server.state.requests) == asked
    for _ in range(3):
        assert registry.get_schema(1) == LONG
        registry.get_version("s", 1)
        registry.get_latest_version("s")
    assert server.state.requests[asked:] == [
        "GET /schemas/ids/1",
        "GET /subjects/s/versions/1",
        "GET /subjects/s/versions/latest",
    ]
    registry.clear_caches()
    registry.get_schema(1)
    assert server.state.requests[-1] == "GET /schemas/ids/1"


def test_caches_are_bounded(server: RegistryServer) -> None:
    with SchemaRegistryClient(server.url, cache_capacity=2) as registry:
        for name in ("a", "b", "c"):
            registry.register_schema(name, LONG)
        asked = len(server.state.requests)
        registry.register_schema("c", LONG)
        assert len(server.state.requests) == asked
        registry.register_schema("a", LONG)
        assert len(server.state.requests) == asked + 1


def test_the_latest_version_is_asked_for_again_after_its_time(server: RegistryServer) -> None:
    with SchemaRegistryClient(server.url, cache_latest_ttl_s=0) as registry:
        registry.register_schema("s", A)
        assert registry.get_latest_version("s").version == 1
        registry.register_schema("s", record('{"name":"a","type":"long"}', '{"name":"b","type":"long","default":1}'))
        assert registry.get_latest_version("s").version == 2


def test_references(registry: SchemaRegistryClient) -> None:
    registry.register_schema("a", A)
    user = Schema('{"type":"array","items":"R"}', references=(SchemaReference("R", "a", 1),))
    schema_id = registry.register_schema("user", user)
    registry.clear_caches()
    assert registry.get_schema(schema_id) == user
    assert registry.get_referenced_by("a", 1) == [schema_id]


def test_normalized_schemas_are_one(registry: SchemaRegistryClient) -> None:
    first = registry.register_schema("s", Schema('{ "type":  "long" }'), normalize_schemas=True)
    assert registry.register_schema("s", Schema('{"type":"long"}'), normalize_schemas=True) == first
    assert registry.lookup_schema("s", Schema('{"type" :"long"}'), normalize_schemas=True).schema_id == first


def test_compatibility(registry: SchemaRegistryClient) -> None:
    registry.register_schema("s", A)
    assert registry.test_compatibility("s", A)
    assert not registry.test_compatibility("s", A_AND_B)
    assert registry.compatibility_messages("s", A_AND_B, None) == ["READER_FIELD_MISSING_DEFAULT_VALUE: b"]
    with pytest.raises(SchemaRegistryError, match="incompatible with an earlier schema") as raised:
        registry.register_schema("s", A_AND_B)
    assert (raised.value.http_status_code, raised.value.error_code) == (409, 409)
    assert registry.get_compatibility("s") == "BACKWARD"
    assert registry.set_compatibility("NONE", "s") == "NONE"
    assert registry.get_config("s") == {"compatibilityLevel": "NONE"}
    assert registry.get_compatibility() == "BACKWARD"
    assert registry.register_schema("s", A_AND_B) == 2
    assert registry.delete_config("s") == {"compatibility": "NONE"}
    assert registry.get_compatibility("s") == "BACKWARD"


def test_mode_and_contexts(registry: SchemaRegistryClient) -> None:
    assert registry.get_mode() == "READWRITE"
    registry.set_mode("READONLY", "s")
    assert registry.get_mode("s") == "READONLY"
    with pytest.raises(SchemaRegistryError, match="read-only") as raised:
        registry.register_schema("s", A)
    assert raised.value.error_code == 42205
    assert registry.delete_mode("s") == "READONLY"
    assert registry.get_mode("s") == "READWRITE"
    registry.register_schema(":.eu:s", A)
    assert registry.get_contexts() == [".", ".eu"]


def test_names_are_quoted_and_ids_are_asked_for_in_their_context(
    registry: SchemaRegistryClient, server: RegistryServer
) -> None:
    registry.register_schema(":.eu:a/b c-value", A)
    assert server.state.requests[-1] == "POST /subjects/%3A.eu%3Aa%2Fb%20c-value/versions"
    registry.get_schema(1, ":.eu:a/b c-value")
    assert server.state.requests[-1] == "GET /schemas/ids/1?subject=%3A.eu%3A"


def test_deleting(registry: SchemaRegistryClient) -> None:
    registry.register_schema("s", A)
    registry.set_compatibility("NONE", "s")
    registry.register_schema("s", A_AND_B)
    assert registry.get_versions("s") == [1, 2]
    assert registry.delete_version("s", 1) == 1
    assert registry.get_versions("s") == [2]
    assert registry.get_versions("s", deleted=True) == [1, 2]
    assert registry.get_version("s", 1, deleted=True).schema == A
    assert registry.delete_version("s", 1, permanent=True) == 1
    assert registry.delete_subject("s") == [2]
    with pytest.raises(SchemaRegistryError) as raised:
        registry.get_latest_version("s")
    assert raised.value.error_code == 40401
    assert registry.delete_subject("s", permanent=True) == [2]
    assert registry.get_subjects(deleted=True) == []


def test_errors_have_code_text_and_url(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    with pytest.raises(SchemaRegistryError) as raised:
        registry.get_schema(77)
    error = raised.value
    assert (error.http_status_code, error.error_code, error.error_message) == (404, 40403, "Schema 77 not found")
    assert str(error) == (f"Schema 77 not found (error code 40403, HTTP status 404 by {server.url}/schemas/ids/77)")
    again = pickle.loads(pickle.dumps(error))
    assert (again.error_code, str(again)) == (40403, str(error))
    server.state.failures.append((403, b"<html>no</html>"))
    with pytest.raises(SchemaRegistryError, match="<html>no</html>"):
        registry.get_subjects()
    server.state.failures.append((200, b"<html>a proxy's page</html>"))
    with pytest.raises(SchemaRegistryError, match="is no JSON: <html>a proxy's page"):
        registry.get_subjects()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(server: RegistryServer, status: int) -> None:
    server.state.failures.extend([(status, {"error_code": status, "message": "busy"})] * 2)
    with SchemaRegistryClient(server.url, max_retries=2, retries_wait_ms=0) as registry:
        assert registry.get_subjects() == []
    assert len(server.state.requests) == 3


def test_what_does_not_pass_is_an_error_with_its_cause(server: RegistryServer) -> None:
    server.state.failures.extend([(500, {"error_code": 50001, "message": "Error in the backend data store"})] * 2)
    registry = SchemaRegistryClient(server.url, max_retries=1, retries_wait_ms=0)
    with registry, pytest.raises(SchemaRegistryUnavailableError, match="Error in the backend data store") as raised:
        registry.get_subjects()
    assert isinstance(raised.value.__cause__, SchemaRegistryError)
    assert raised.value.__cause__.error_code == 50001


def test_nobody_there() -> None:
    url = f"http://localhost:{unused_port()}"
    with pytest.raises(SchemaRegistryUnavailableError) as raised:
        SchemaRegistryClient(url, max_retries=0).get_subjects()
    assert url in str(raised.value)
    assert "ConnectionRefusedError" in str(raised.value)


def test_the_next_node_is_asked_and_kept(server: RegistryServer) -> None:
    dead = f"http://localhost:{unused_port()}"
    with running_registry() as second, SchemaRegistryClient(f"{dead}, {second.url}", max_retries=0) as registry:
        assert registry.urls == [dead, second.url]
        assert registry.get_subjects() == []
        second.state.failures.append((503, {}))
        with pytest.raises(SchemaRegistryUnavailableError):
            registry.get_subjects()
    with running_registry() as second, SchemaRegistryClient([second.url, server.url], max_retries=0) as registry:
        second.state.failures.append((503, {}))
        assert registry.get_subjects() == []
        registry.get_contexts()
        assert (len(second.state.requests), len(server.state.requests)) == (1, 2)


def test_connections_are_kept_and_made_again(server: RegistryServer) -> None:
    with SchemaRegistryClient(server.url, max_retries=0) as registry:
        for _ in range(5):
            registry.get_contexts()
        assert server.connections == 1
        port = server.server_port
        server.shutdown()
        server.server_close()
        registry._transport._nodes[0]._idle[0].sock.shutdown(socket.SHUT_RDWR)
        with running_registry(port=port) as again:
            assert registry.get_contexts() == ["."]
            assert again.connections == 1


def test_pauses_grow_up_to_a_bound(server: RegistryServer) -> None:
    policy = RetryPolicy(5, 100, 500)
    assert [policy.pause_s(i, 1.0) for i in range(1, 5)] == [0.1, 0.2, 0.4, 0.5]
    assert policy.pause_s(3, 0.0) == 0.2
    pauses: list[float] = []
    server.state.failures.extend([(503, {})] * 3)
    node = RegistryNode(server.url, 5, None)
    transport = HttpTransport([node], policy, lambda node: None, pauses.append)
    assert transport.request("GET", "/subjects") == []
    assert len(pauses) == 3
    transport.close()


def test_authorization(server: RegistryServer) -> None:
    basic = "Basic " + base64.b64encode(b"me:se:cret@").decode()
    server.state.authorization = basic
    with SchemaRegistryClient(server.url, basic_auth_user_info="me:se:cret@") as registry:
        assert registry.get_subjects() == []
    in_url = server.url.replace("://", "://me:se%3Acret%40@")
    with SchemaRegistryClient(in_url) as registry:
        assert registry.get_subjects() == []
        assert registry.urls == [server.url]
    with SchemaRegistryClient(server.url) as registry, pytest.raises(SchemaRegistryError) as raised:
        registry.get_subjects()
    assert raised.value.error_code == 401
    tokens = iter(["one", "two"])
    server.state.authorization = "Bearer two"
    with SchemaRegistryClient(server.url, bearer_auth_token=lambda: next(tokens)) as registry:
        with pytest.raises(SchemaRegistryError):
            registry.get_subjects()
        assert registry.get_subjects() == []
    with pytest.raises(KafkaConfigurationError):
        SchemaRegistryClient(server.url, basic_auth_user_info="a:b", bearer_auth_token="c")


def test_tls(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with running_registry(context) as server:
        with SchemaRegistryClient(server.url, ssl_cafile=str(certificate), max_retries=0) as registry:
            assert registry.get_subjects() == []
        with pytest.raises(SchemaRegistryUnavailableError, match="certificate"):
            SchemaRegistryClient(server.url, max_retries=0).get_subjects()


def test_a_node_that_does_not_answer_is_given_up(server: RegistryServer) -> None:
    answer = threading.Event()
    server.state.barrier = answer.wait
    with SchemaRegistryClient(server.url, timeout_ms=50, max_retries=0) as registry:
        with pytest.raises(SchemaRegistryUnavailableError, match="timed out"):
            registry.get_subjects()
        answer.set()


def test_a_path_before_the_interface(server: RegistryServer) -> None:
    registry = SchemaRegistryClient(f"{server.url}/contexts/.eu/", max_retries=0)
    with registry, pytest.raises(SchemaRegistryError):
        registry.get_subjects()
    assert server.state.requests == ["GET /contexts/.eu/subjects"]


def test_of_confluents_configuration(server: RegistryServer) -> None:
    conf = {"url": server.url, "basic.auth.user.info": "a:b", "timeout": 3, "cache.capacity": 7}
    with SchemaRegistryClient.from_conf(conf) as registry:
        registry.get_subjects()
    assert server.state.authorizations == ["Basic YTpi"]
    with pytest.raises(KafkaConfigurationError, match=r"ssl\.what"):
        SchemaRegistryClient.from_conf({"url": server.url, "ssl.what": 1})
    with pytest.raises(KafkaConfigurationError, match="http://"):
        SchemaRegistryClient("localhost:8081")


def test_a_client_goes_to_other_processes(registry: SchemaRegistryClient) -> None:
    registry.register_schema("s", A)
    with pickle.loads(pickle.dumps(registry)) as copy:
        found: RegisteredSchema = copy.get_latest_version("s")
        assert found.schema == A


def test_many_threads_share_a_client(registry: SchemaRegistryClient) -> None:
    found: list[int] = []

    def register(number: int) -> None:
        found.append(registry.register_schema(f"s{number % 3}", LONG))

    threads = [threading.Thread(target=register, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 12
