from __future__ import annotations

from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from tests.scraped_page import Page


def test_the_page_of_a_group() -> None:
    page = Page(DispatcherMetrics(handled=3, handler_seconds=0.25, queued=2).prometheus('a "b"'))
    assert page.value("kafkapy_dispatcher_handled_total", group='a "b"') == 3
    assert page.value("kafkapy_dispatcher_handler_seconds_total", group='a "b"') == 0.25
    assert page.value("kafkapy_dispatcher_queued", group='a "b"') == 2
