"""What follows from the file of the dedicated mode, beside Java's `MirrorMakerConfig`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.mirror import SourceAndTarget
from kafkapy.mirror.config.maker_config import CONNECTORS, MirrorMakerConfig

ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/java_maker_config.tsv").read_text().splitlines()]
INPUT = dict(row[1].split("=", 1) for row in ROWS if row[0] == "mm_input")


def rows(*place: str) -> dict[str, str]:
    size = len(place)
    return {row[size]: row[size + 1] for row in ROWS if tuple(row[:size]) == place}


def test_flows_are_those_of_java() -> None:
    (wanted,) = [row[1].split() for row in ROWS if row[0] == "mm_pairs"]
    assert sorted(map(str, MirrorMakerConfig(INPUT).cluster_pairs())) == wanted


@pytest.mark.parametrize("pair", [SourceAndTarget("A", "B"), SourceAndTarget("B", "A")], ids=str)
def test_configs_of_workers_and_connectors_are_those_of_java(pair: SourceAndTarget) -> None:
    config = MirrorMakerConfig(INPUT)
    assert config.worker_config(pair) == rows("mm_worker", str(pair))
    for connector in CONNECTORS:
        assert config.connector_config(pair, connector) == rows("mm_connector", str(pair), connector)


def test_variables_of_config_providers(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("password=s3cret\n")
    variable = f"${{file:{tmp_path}/secrets.properties:password}}"
    config = MirrorMakerConfig(
        {
            "clusters": "A,B",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "B.bootstrap.servers": "b:1",
            "B.ssl.key.password": variable,
        }
    )
    pair = SourceAndTarget("A", "B")
    assert config.worker_config(pair)["ssl.key.password"] == "s3cret"
    assert config.client_config("B").originals["ssl.key.password"] == "s3cret"
    assert config.connector_config(pair, CONNECTORS[0])["target.cluster.ssl.key.password"] == variable


def test_clusters_must_be_named() -> None:
    for wrong in ({}, {"clusters": ""}):
        with pytest.raises(ConfigException, match="clusters"):
            MirrorMakerConfig(wrong)


def test_heartbeats_need_a_flow_the_other_way() -> None:
    config = MirrorMakerConfig({"clusters": "A,B", "A->B.enabled": "true"})
    assert list(map(str, config.cluster_pairs())) == ["A->B", "B->A"]
    config = MirrorMakerConfig({"clusters": "A,B", "A->B.enabled": "true", "B->A.emit.heartbeats.enabled": "false"})
    assert list(map(str, config.cluster_pairs())) == ["A->B"]


def test_configs_of_workers_need_the_alias_of_a_cluster() -> None:
    used = {"tasks.max": "2", "listeners": "http://:1", "offset.storage.partitions": "5", "ssl.protocol": "TLSv1.3"}
    delay = "scheduled.rebalance.max.delay.ms"
    config = MirrorMakerConfig({"clusters": "A,B", **used, delay: "1", f"B.{delay}": "2"})
    assert config.without_effect() == [delay]
    assert config.worker_config(SourceAndTarget("A", "B"))[delay] == "2"
