from __future__ import annotations

import pytest

from kafkapy.common.metrics import KEPT_SAMPLES, WINDOW_SECONDS, Histogram, Share, merged_quantiles
from kafkapy.common.metrics_requests import RequestStats, RequestStatsByApi
from kafkapy.common.metrics_topics import BrokerTopicStats


class Now:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now() -> Now:
    return Now()


class TestHistogram:
    def test_quantiles(self, now: Now) -> None:
        histogram = Histogram(now)
        for value in range(1, 11):
            histogram.record(float(value))
        assert histogram.quantiles([0.0, 0.5, 0.9, 1.0]) == [1, 5, 9, 10]
        assert (histogram.count, histogram.sum) == (10, 55)

    def test_nothing_was_recorded(self, now: Now) -> None:
        assert Histogram(now).quantiles([0.5]) is None

    def test_only_the_last_minute_counts_for_quantiles(self, now: Now) -> None:
        histogram = Histogram(now)
        histogram.add([1000.0])
        now.seconds += WINDOW_SECONDS + 1
        assert histogram.quantiles([0.5]) is None
        histogram.add([1.0])
        assert histogram.quantiles([0.99]) == [1]
        assert (histogram.count, histogram.sum) == (2, 1001)

    def test_of_many_values_some_are_kept(self, now: Now) -> None:
        histogram = Histogram(now)
        histogram.add([float(value) for value in range(10_000)])
        assert len(histogram.weighted_samples()) <= 2 * KEPT_SAMPLES
        (median,) = histogram.quantiles([0.5]) or []
        assert 4000 < median < 6000
        assert (histogram.count, histogram.sum) == (10_000, sum(range(10_000)))

    def test_zeros_weigh_as_much_as_others(self, now: Now) -> None:
        histogram = Histogram(now)
        histogram.add_zeros(98)
        histogram.add([5.0, 7.0])
        assert histogram.quantiles([0.5, 0.98, 0.99, 1.0]) == [0, 0, 5, 7]

    def test_several_together(self, now: Now) -> None:
        one, other = Histogram(now), Histogram(now)
        one.add([1.0, 2.0])
        other.add([3.0, 4.0])
        assert merged_quantiles([one, other], [0.25, 0.5, 1.0]) == [1, 2, 4]


class TestShare:
    def test_of_the_last_minute(self, now: Now) -> None:
        clock = Now()
        share = Share(clock, now)
        for _ in range(100):
            now.seconds += 1
            clock.seconds += 1
            share.mark()
        assert share.value() == 1
        for _ in range(30):
            now.seconds += 1
            share.mark()
        assert share.value() == pytest.approx(0.5, abs=0.02)

    def test_at_once(self, now: Now) -> None:
        assert Share(Now(), now).value() == 1


class TestRequestStats:
    def test_answered_at_once(self) -> None:
        stats = RequestStats()
        stats.record_immediate(0.002)
        assert stats.count == 1
        stats.fold()
        assert stats.count == 1
        assert (stats.total.sum, stats.local.sum, stats.remote.sum, stats.send.sum) == (2, 2, 0, 0)
        assert stats.remote.count == stats.send.count == 1

    def test_where_the_time_of_others_went(self) -> None:
        stats = RequestStats()
        stats.record_delayed((1.0, 1.5, 3.5, 4.5))
        stats.fold()
        assert (stats.total.sum, stats.local.sum, stats.remote.sum, stats.send.sum) == (3500, 500, 2000, 1000)

    def test_answered_by_the_handler_but_sent_later(self) -> None:
        stats = RequestStats()
        stats.record_delayed((1.0, 1.5, 1.25, 4.25))
        stats.fold()
        assert (stats.total.sum, stats.local.sum, stats.remote.sum, stats.send.sum) == (3250, 250, 0, 3000)

    def test_errors(self) -> None:
        stats = RequestStats()
        for code in (3, 6, 3):
            stats.error(code)
        assert stats.errors == {3: 2, 6: 1}

    def test_fetches_of_followers_are_apart(self) -> None:
        by_api = RequestStatsByApi(5, 1)
        by_api.followers[1].record_immediate(1.0)
        by_api.followers[3].record_immediate(1.0)
        assert [stats.count for stats in by_api.clients] == [0, 0, 0, 1, 0, 0]
        assert by_api.fetch_of_followers.count == 1
        by_api.fold()
        assert by_api.fetch_of_followers.total.count == by_api.clients[3].total.count == 1


class TestTopicStats:
    def test_a_deleted_topic_stays_in_the_sum(self) -> None:
        stats = BrokerTopicStats()
        stats.clients["t"].messages_in += 5
        stats.clients["u"].messages_in += 2
        stats.forget("t")
        stats.forget("never seen")
        assert list(stats.clients) == ["u"]
        assert stats.clients.all_topics().messages_in == 7

    def test_names_that_only_clients_know(self) -> None:
        stats = BrokerTopicStats()
        stats.clients.existing_or_others("nonsense").failed_produces += 1
        assert list(stats.clients) == []
        assert stats.clients.all_topics().total_produces == 1
