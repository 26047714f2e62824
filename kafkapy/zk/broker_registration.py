"""A broker's ephemeral znode under /brokers/ids, which must belong to the current session."""

from __future__ import annotations

import logging
import threading

from kafkapy.zk.errors import NodeExistsError, NoNodeError
from kafkapy.zk.handlers import ZNodeChangeHandler
from kafkapy.zk.request_pipeline import RequestPipeline
from kafkapy.zk.requests import Create, Delete, Exists, Multi, SetData, Stat
from kafkapy.zk.zookeeper_client import ZooKeeperClient

log = logging.getLogger("kafkapy.zk.KafkaZkClient")

SESSION_END_MARGIN_MS = 6000
"""ZooKeeper expires sessions at ticks of 2 to 3 s, so a session outlives its time-out by up to that; doubled for
safety.
"""


def create_checked_ephemeral(client: ZooKeeperClient, path: str, data: bytes) -> Stat:
    """Create the znode for the current session (Kafka's `CheckedEphemeral`); return its stat, whose czxid is the broker
    epoch.

    If it exists and belongs to this session (the reply was lost), it counts as created. If it belongs to an expired
    session of this client, it is deleted and created again. If it belongs to another session, wait for that session to
    expire, as a killed process's session does. `NodeExistsError` if it doesn't.
    """
    pipeline = RequestPipeline(client)
    while True:
        created = pipeline.answer_to(Multi((Create(path, None, ephemeral=True), SetData(path, data, 0))))
        if not isinstance(created.error, NodeExistsError):
            stat = created.raise_for_error().results[1].stat
            assert stat is not None
            return stat
        existing = pipeline.answer_to(Exists(path))
        if isinstance(existing.error, NoNodeError):
            continue
        stat = existing.raise_for_error().stat
        assert stat is not None
        if stat.ephemeral_owner == client.session_id:
            return stat
        if stat.ephemeral_owner in client.past_session_ids:
            log.info("Deleting %s of our own expired session 0x%x", path, stat.ephemeral_owner)
            pipeline.answer_to(Delete(path, stat.version))
        else:
            _wait_for_end_of_session(client, path, stat)


def _wait_for_end_of_session(client: ZooKeeperClient, path: str, stat: Stat) -> None:
    timeout_ms = client.session_timeout_ms + SESSION_END_MARGIN_MS
    log.warning(
        "%s belongs to the session 0x%x of another process, perhaps one that was killed; waiting up to %d ms for that "
        "session to end",
        path,
        stat.ephemeral_owner,
        timeout_ms,
    )
    gone = threading.Event()
    client.register_znode_change_handler(ZNodeChangeHandler(path, handle_deletion=gone.set))
    try:
        now = RequestPipeline(client).answer_to(Exists(path))
        if now.stat is None or now.stat.ephemeral_owner != stat.ephemeral_owner or gone.wait(timeout_ms / 1000):
            return
    finally:
        client.unregister_znode_change_handler(path)
    raise NodeExistsError(
        f"{path} exists and its session 0x{stat.ephemeral_owner:x} lives on: is another broker with this id running?",
        path,
    )
