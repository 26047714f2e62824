from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.schema import Versions


def test_keys_and_names() -> None:
    assert ApiKey(18) is ApiKey.API_VERSIONS
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH.title == "OffsetForLeaderEpoch"
    assert ApiKey.FETCH.response.__name__ == "FetchResponse"
    assert len(ApiKey) == 62


def test_the_table_agrees_with_the_messages() -> None:
    for api in ApiKey:
        for cls, kind in ((api.request, "Request"), (api.response, "Response")):
            assert cls.__name__ == api.title + kind
            assert api == cls.API_KEY
            assert Versions(api.min_version, api.max_version) == cls.VERSIONS
            for version in range(api.max_version + 1):
                assert api.flexible(version) == cls.FLEXIBLE_VERSIONS.includes(version)
            fields = [field for struct in cls.structs() for field in struct.FIELDS]
            assert all(
                field.versions.lowest <= api.max_version for field in fields
            )  # none is of a version that nobody has


def test_versions() -> None:
    assert ApiKey.FETCH.supports(17) and ApiKey.FETCH.supports(0)
    assert not ApiKey.FETCH.supports(18) and not ApiKey.FETCH.supports(-1)
    assert not ApiKey.SASL_HANDSHAKE.flexible(1)


def test_header_versions() -> None:
    assert [ApiKey.CONTROLLED_SHUTDOWN.request_header_version(version) for version in range(4)] == [0, 1, 1, 2]
    assert [ApiKey.API_VERSIONS.request_header_version(version) for version in range(5)] == [1, 1, 1, 2, 2]
    assert [ApiKey.API_VERSIONS.response_header_version(version) for version in range(5)] == [0, 0, 0, 0, 0]
    assert [ApiKey.FETCH.response_header_version(version) for version in (11, 12)] == [0, 1]


def test_only_brokers_may_call_cluster_actions() -> None:
    assert ApiKey.LEADER_AND_ISR.cluster_action
    assert not ApiKey.PRODUCE.cluster_action
