"""Delegation tokens in ZooKeeper: Kafka's nodes and bytes, notifications."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from kafkapy.common.time import SystemTime
from kafkapy.security.delegation_tokens import TokenInformation
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.token_store import CHANGES_PATH, MAX_TOKEN_BYTES, TOKENS_PATH, ZkTokenStore, token_path
from tests.waiting import HANG_SECONDS

ADMIN, ALICE = KafkaPrincipal("User", "admin"), KafkaPrincipal("User", "alice")
TOKEN = TokenInformation("FHsm", ADMIN, ADMIN, (ALICE,), 1795231452443, 1795235052443, 1795235052443)
DATA = (
    b'{"issueTimestamp":1795231452443,"renewers":["User%3Aalice"],"tokenRequester":"User%3Aadmin","tokenId":"FHsm",'
    b'"owner":"User%3Aadmin","expiryTimestamp":1795235052443,"maxTimestamp":1795235052443,"version":3}'
)
"""As Kafka 3.9.1 wrote it, but for the id."""


@pytest.mark.parametrize("token_id", ["", ".", "..", "a/b", "a\0b", "a\n"])
def test_what_can_be_no_node_is_no_id(token_id: str) -> None:
    with pytest.raises(ValueError):
        token_path(token_id)


@pytest.fixture
def zk_client(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.connect(zk_connect, 6000)
    yield client
    client.close()


@pytest.fixture
def store(zk_client: KafkaZkClient) -> ZkTokenStore:
    store = ZkTokenStore(zk_client, SystemTime())
    store.create_token_paths()
    store.create_token_paths()  # they are there
    return store


@pytest.mark.integration
def test_nodes_are_kafkas(store: ZkTokenStore, zk_client: KafkaZkClient) -> None:
    heard: SimpleQueue[str] = SimpleQueue()
    listener = store.listener(heard.put, lambda: None)
    listener.startup()
    try:
        store.create(TOKEN)
        assert zk_client.get_data_and_version("/delegation_token/tokens/FHsm") == (DATA, 0)
        store.notify("FHsm")
        assert zk_client.get_children("/delegation_token/token_changes") == ["token_change_0000000000"]
        assert zk_client.get_data_and_version("/delegation_token/token_changes/token_change_0000000000")[0] == b"FHsm"
        assert heard.get(timeout=HANG_SECONDS) == "FHsm"
    finally:
        listener.shutdown()


@pytest.mark.integration
def test_a_token_from_its_creation_to_its_removal(store: ZkTokenStore) -> None:
    store.create(TOKEN)
    store.create(TOKEN)  # again, where the answer to the first try was lost
    renewed = TOKEN._replace(expiry_timestamp=1795235052000)
    assert store.update(renewed)
    assert store.get("FHsm") == renewed
    assert store.load_all() == [renewed]
    store.remove("FHsm")
    store.remove("FHsm")
    assert store.get("FHsm") is None
    assert store.load_all() == []
    assert not store.update(TOKEN), "a token that another broker has removed does not come back"


@pytest.mark.integration
def test_nodes_that_have_no_token_are_left_out(
    store: ZkTokenStore, zk_client: KafkaZkClient, caplog: pytest.LogCaptureFixture
) -> None:
    store.create(TOKEN)
    for name, data in (("garbage", b"{"), ("other", DATA), ("empty", None), ("version4", DATA.replace(b":3}", b":4}"))):
        zk_client.create_recursive(f"{TOKENS_PATH}/{name}", data)
    assert store.load_all() == [TOKEN]
    assert store.get("empty") is None
    for name in ("garbage", "other", "version4"):
        assert f"tokenId: {name}:" in caplog.text
        with pytest.raises(ValueError):
            store.get(name)


@pytest.mark.integration
def test_no_node_is_larger_than_zookeeper_takes(store: ZkTokenStore, zk_client: KafkaZkClient) -> None:
    """Kafka repeats it for ever: ZooKeeper ends the connection each time."""
    renewers = tuple(KafkaPrincipal("User", f"{number:0100}") for number in range(MAX_TOKEN_BYTES // 100))
    with pytest.raises(ValueError, match="larger than a node"):
        store.create(TOKEN._replace(renewers=renewers))
    assert zk_client.get_children(TOKENS_PATH) == zk_client.get_children(CHANGES_PATH) == []
