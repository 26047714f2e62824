"""Election, failover, resignation, and what is said to brokers at first."""

from __future__ import annotations

import logging

from controller_cluster import Cluster

from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest


def test_first_broker_becomes_controller_with_kafkas_writes():
    cluster = Cluster(1)
    assert cluster.controller.is_active
    assert cluster.controller.controller_id == 1
    assert cluster.controller.epoch == 1
    registration, update, epoch, controller, new_epoch, feature = cluster.zookeeper.take_writes()
    assert registration == "create /brokers/ids/1"
    assert update.startswith('set /brokers/ids/1 {"')
    assert epoch == "create /controller_epoch 0"
    assert controller.startswith('create /controller {"version":2,"brokerid":1,"timestamp":"')
    assert new_epoch == "set /controller_epoch 1"
    assert feature.startswith("create /feature {")


def test_topic_creation():
    cluster = Cluster(1)
    cluster.forget()
    cluster.create_topic("t", {0: [1], 1: [1]})
    print(cluster.zookeeper.take_writes())
    print(cluster.channel.take_summary())
