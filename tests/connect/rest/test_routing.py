from __future__ import annotations

import pytest

from kafkapy.connect.rest.answers import json_answer
from kafkapy.connect.rest.rest_server import answer_with
from kafkapy.connect.rest.routing import ConnectRoute, ConnectRouter, RestRequest
from kafkapy.http.messages import HttpAnswer, HttpRequest, path_parts


def show(request: RestRequest) -> HttpAnswer:
    return json_answer({**request.path, **{name: values[0] for name, values in request.query.items()}})


ROUTER = ConnectRouter(
    [
        ConnectRoute("GET", "/", show),
        ConnectRoute("GET", "/connectors", show),
        ConnectRoute("POST", "/connectors", show),
        ConnectRoute("GET", "/connectors/{connector}", show),
        ConnectRoute("PUT", "/connectors/{connector}/topics/reset", show),
    ]
)


def ask(method: str, path: str, body: bytes = b"", **headers: str) -> HttpAnswer:
    target, _, query = path.partition("?")
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer_with(ROUTER, HttpRequest(method, target, path_parts(target), {}, names, body, None, query))


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/", 200, b"{}"),
        ("GET", "/connectors/", 200, b"{}"),
        ("GET", "/connectors/a%2Fb?expand=x&expand=y", 200, b'{"connector":"a/b","expand":"x"}'),
        ("PUT", "/connectors/a/topics/reset", 200, b'{"connector":"a"}'),
        ("GET", "/connectors/a/b", 404, b'{"error_code":404,"message":"HTTP 404 Not Found"}'),
        ("GET", "//connectors", 404, b'{"error_code":404,"message":"HTTP 404 Not Found"}'),
        ("PATCH", "/connectors", 405, b'{"error_code":405,"message":"HTTP 405 Method Not Allowed"}'),
        ("GET", "/connectors/%zz", 400, b""),
    ],
)
def test_a_request_finds_its_resource(method: str, path: str, status: int, body: bytes) -> None:
    answer = ask(method, path)
    assert (answer.status, answer.body) == (status, body)


def test_media_types_are_checked() -> None:
    assert ask("GET", "/", accept="text/html").status == 406
    assert ask("GET", "/", accept="text/html, */*;q=0.1").status == 200
    assert ask("POST", "/connectors", b"{}", content_type="text/plain").status == 415
    assert ask("POST", "/connectors", b"{}", content_type="application/json; charset=utf-8").status == 200


def test_options_and_head_follow_from_the_others() -> None:
    assert dict(ask("OPTIONS", "/connectors").headers)["allow"] == "HEAD,POST,GET,OPTIONS"
    assert ask("HEAD", "/connectors").status == 200
