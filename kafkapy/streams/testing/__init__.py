"""Tests of topologies without a broker: see `TopologyTestDriver`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.streams.testing.test_topics import TestInputTopic as TestInputTopic
    from kafkapy.streams.testing.test_topics import TestOutputTopic as TestOutputTopic
    from kafkapy.streams.testing.test_topics import TestRecord as TestRecord
    from kafkapy.streams.testing.topology_test_driver import Metric as Metric
    from kafkapy.streams.testing.topology_test_driver import MetricName as MetricName
    from kafkapy.streams.testing.topology_test_driver import TopologyTestDriver as TopologyTestDriver
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "test_topics": "TestInputTopic TestOutputTopic TestRecord",
            "topology_test_driver": "Metric MetricName TopologyTestDriver",
        },
    )
