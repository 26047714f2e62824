"""The controller, and the ZooKeeper session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.event_manager import TimeSpent
from kafkapy.runtime.chunks import chunks
from kafkapy.server.metrics.metric import BrokerMetric, Sample, Summary, counter, gauge, summaries
from kafkapy.server.metrics.sources import Sources

_CONTROLLER = "kafka.controller:type=KafkaController,name={}"
_ZOOKEEPER = "kafka.server:type=SessionExpireListener,name={}"

IDLE = 0

CONTROLLER_STATES: dict[str, tuple[int, tuple[str, ...]]] = {
    "ControllerChange": (1, ("Startup", "ControllerChange", "Reelect", "RegisterBrokerAndReelect", "Expire")),
    "LeaderElection": (2, ("BrokerChange", "BrokerModifications")),
    "TopicChange": (3, ("TopicChange", "PartitionModifications")),
    "TopicDeletion": (4, ("TopicDeletion", "TopicDeletionStopReplicaResponseReceived")),
    "AlterPartitionReassignment": (5, ("ZkPartitionReassignment", "ApiPartitionReassignment")),
    "AutoLeaderBalance": (6, ("AutoPreferredReplicaLeaderElection",)),
    "ManualLeaderBalance": (7, ("ElectLeaders", "ZkPreferredReplicaElection")),
    "ControlledShutdown": (8, ("ControlledShutdown",)),
    "IsrChange": (9, ("IsrChangeNotification", "AlterPartition")),
    "LeaderAndIsrResponseReceived": (10, ("LeaderAndIsrResponseReceived",)),
    "LogDirChange": (11, ("LogDirEventNotification",)),
    "UncleanLeaderElectionEnable": (13, ("UncleanLeaderElectionEnable",)),
    "TopicUncleanLeaderElectionEnable": (14, ("TopicUncleanLeaderElectionEnable",)),
    "ListPartitionReassignment": (15, ("ListPartitionReassignments",)),
    "UpdateFeatures": (17, ("UpdateFeatures",)),
}
"""Kafka's `ControllerState`: metric name → (the state's number, the events with this state)."""

_NUMBER_OF_EVENT = {event: number for number, events in CONTROLLER_STATES.values() for event in events}


def _state(sources: Sources) -> float:
    return _NUMBER_OF_EVENT.get(sources.controller.events.current, IDLE)


def _time_of(events: tuple[str, ...]) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        spent = sources.controller.events.spent
        yield (), _summary(*(spent[event] for event in events if event in spent))

    return read


def _summary(*spent: TimeSpent) -> Summary:
    return Summary(sum(one.count for one in spent), sum(one.ms for one in spent))


def _context(of: Callable[[ControllerContext], float]) -> Callable[[Sources], float]:
    """Return a reader that yields 0 if another broker is the controller."""
    return lambda sources: of(sources.controller.context) if sources.controller.is_active else 0


def _imbalance(sources: Sources) -> Iterator[Sample | None]:
    """Count the partitions whose leader is not the preferred replica."""
    context, count = sources.controller.context, 0
    states = context.leadership.copy() if sources.controller.is_active else {}
    for chunk in chunks(states.items()):
        for partition, state in chunk:
            if partition.topic not in context.topics_to_be_deleted:
                count += state.leader_and_isr.leader != (context.replica_assignment(partition).replicas or (None,))[0]
        yield None
    yield (), count


def _session_state(sources: Sources) -> Iterator[Sample]:
    yield (sources.zk_client.session_state,), 1


def _stats_metric(state: str) -> BrokerMetric:
    name = f"{state}RateAndTimeMs"
    what = "elections after brokers came or went" if state == "LeaderElection" else f"events of state {state}"
    return summaries(
        f"kafka_controller_controllerstats_{name.lower()}",
        f"kafka.controller:type=ControllerStats,name={name}",
        f"How long the controller here took for {what}, ms.",
        _time_of(CONTROLLER_STATES[state][1]),
    )


CONTROLLER_METRICS: tuple[BrokerMetric, ...] = (
    gauge(
        "kafka_controller_kafkacontroller_activecontrollercount", _CONTROLLER.format("ActiveControllerCount"),
        "1: this broker is the controller.", lambda s: int(s.controller.is_active)),
    gauge(
        "kafka_controller_kafkacontroller_offlinepartitionscount", _CONTROLLER.format("OfflinePartitionsCount"),
        "Partitions without a leader. This and the following five are 0 on brokers that aren't the controller.",
        _context(lambda c: c.offline_partition_count)),
    gauge(
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        _CONTROLLER.format("PreferredReplicaImbalanceCount"),
        "Partitions that another than their preferred replica leads.", _imbalance),
    gauge(
        "kafka_controller_kafkacontroller_globaltopiccount", _CONTROLLER.format("GlobalTopicCount"),
        "Topics of the cluster.", _context(lambda c: len(c.all_topics))),
    gauge(
        "kafka_controller_kafkacontroller_globalpartitioncount", _CONTROLLER.format("GlobalPartitionCount"),
        "Partitions of the cluster.", _context(lambda c: len(c.partition_states))),
    gauge(
        "kafka_controller_kafkacontroller_topicstodeletecount", _CONTROLLER.format("TopicsToDeleteCount"),
        "Topics that are being deleted.", _context(lambda c: len(c.topics_to_be_deleted))),
    gauge(
        "kafka_controller_kafkacontroller_activebrokercount", _CONTROLLER.format("ActiveBrokerCount"),
        "Brokers that are registered.", _context(lambda c: len(c.live_broker_epochs))),
    gauge(
        "kafka_controller_kafkacontroller_controllerstate", _CONTROLLER.format("ControllerState"),
        "What the controller here is busy with, Kafka's numbers: 0 nothing, "
        + ", ".join(f"{number} {state}" for state, (number, _) in CONTROLLER_STATES.items()) + ".", _state),
    gauge(
        "kafka_controller_controllereventmanager_eventqueuesize",
        "kafka.controller:type=ControllerEventManager,name=EventQueueSize",
        "Events that the controller here has not got to yet.", lambda s: s.controller.events.queue_size),
    summaries(
        "kafka_controller_controllereventmanager_eventqueuetimems",
        "kafka.controller:type=ControllerEventManager,name=EventQueueTimeMs",
        "How long events of the controller here waited, ms.",
        lambda s: iter([((), _summary(s.controller.events.waited))])),
    counter(
        "kafka_controller_controllerstats_leaderelections_total", "",
        "Leaders that the controller here has elected, those of new partitions not counted.",
        lambda s: s.controller.leader_elections),
    counter(
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "Of these, leaders that were not in sync: records are lost.",
        lambda s: s.controller.unclean_leader_elections),
    *map(_stats_metric, CONTROLLER_STATES),
    gauge(
        "kafka_brokers", "",
        "As kafka_exporter: number of live brokers in this broker's metadata.",
        lambda s: len(s.metadata_cache.alive_broker_ids())),
    gauge(
        "kafka_server_sessionexpirelistener_sessionstate", _ZOOKEEPER.format("SessionState"),
        "1, with the state of the ZooKeeper session: CONNECTED, CONNECTING, EXPIRED or CLOSED.",
        _session_state, "state"),
    counter(
        "kafka_server_sessionexpirelistener_zookeepersyncconnects_total", _ZOOKEEPER.format("ZooKeeperSyncConnectsPerSec"),
        "Times a connection to ZooKeeper was made.", lambda s: s.zk_client.session_stats.connects),
    counter(
        "kafka_server_sessionexpirelistener_zookeeperdisconnects_total", _ZOOKEEPER.format("ZooKeeperDisconnectsPerSec"),
        "Times it was lost.", lambda s: s.zk_client.session_stats.disconnects),
    counter(
        "kafka_server_sessionexpirelistener_zookeeperexpires_total", _ZOOKEEPER.format("ZooKeeperExpiresPerSec"),
        "ZooKeeper sessions that have expired.", lambda s: s.zk_client.session_stats.expires),
    summaries(
        "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms",
        "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs",
        "How long ZooKeeper took to answer, ms.", lambda s: iter([((), _latency(s))])),
)  # fmt: skip


def _latency(sources: Sources) -> Summary:
    stats = sources.zk_client.session_stats
    return Summary(stats.requests, stats.request_seconds * 1000)
