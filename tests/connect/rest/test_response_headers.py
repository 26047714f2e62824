from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.connect.rest.response_headers import ResponseHeaders
from kafkapy.http.messages import HttpAnswer, HttpRequest

CORS = {"access.control.allow.origin": "http://example.com, http://*.b.org", "access.control.allow.methods": "GET,POST"}


def headers_of(properties: dict[str, str], method: str = "GET", **headers: str) -> dict[str, str]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HttpRequest(method, "/", (), {}, names, b"")
    made = ResponseHeaders.of(properties, MockTime(0))
    return dict(made.added(HttpAnswer(200), request).headers)


def test_without_configs_nothing_is_added() -> None:
    assert headers_of({}, origin="http://example.com") == {}


@pytest.mark.parametrize("origin", ["http://example.com", "http://x.b.org"])
def test_an_allowed_origin_may_read(origin: str) -> None:
    assert headers_of(CORS, origin=origin) == {
        "access-control-allow-origin": origin,
        "vary": "Origin",
        "access-control-allow-credentials": "true",
    }


def test_others_may_not() -> None:
    assert headers_of(CORS) == headers_of(CORS, origin="http://evil.com") == {}
    assert headers_of(CORS, origin="http://example.com.evil.com") == {}


def test_any_origin_does_not_vary() -> None:
    assert "vary" not in headers_of({"access.control.allow.origin": "*"}, origin="http://a")


def test_a_preflight_says_what_is_allowed() -> None:
    found = headers_of(CORS, "OPTIONS", origin="http://example.com", access_control_request_method="POST")
    assert found["access-control-allow-methods"] == "GET,POST" and found["access-control-max-age"] == "1800"
    asked = {"origin": "http://example.com", "access_control_request_method": "GET"}
    assert headers_of(CORS, "OPTIONS", **asked, access_control_request_headers="content-type, Accept")
    assert headers_of(CORS, "OPTIONS", **asked, access_control_request_headers="X-Foo") == {}
    assert headers_of(CORS, "OPTIONS", **{**asked, "access_control_request_method": "DELETE"}) == {}


def test_configured_headers() -> None:
    text = 'set Cache-Control: no-cache, "add X-List: a, b", setDate Expires: 60000'
    assert headers_of({"response.http.headers.config": text}) == {
        "Cache-Control": "no-cache",
        "X-List": "a, b",
        "Expires": "Thu, 01 Jan 1970 00:01:00 GMT",
    }


@pytest.mark.parametrize(
    "text", ["Cache-Control: x", "set Cache-Control", "set : x", "setDate Expires: soon", '"set A: b']
)
def test_a_wrong_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigException, match=r"response\.http\.headers\.config"):
        ResponseHeaders.of({"response.http.headers.config": text})
