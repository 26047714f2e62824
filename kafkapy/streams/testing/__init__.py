"""Tests of topologies without a broker: see `TopologyTestDriver`."""

from kafkapy.streams.testing.test_topics import TestInputTopic, TestOutputTopic, TestRecord
from kafkapy.streams.testing.topology_test_driver import Metric, MetricName, TopologyTestDriver

__all__ = ["Metric", "MetricName", "TestInputTopic", "TestOutputTopic", "TestRecord", "TopologyTestDriver"]
