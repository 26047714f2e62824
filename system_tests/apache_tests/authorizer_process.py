"""The broker's `AclAuthorizer` without a broker, asked over HTTP: Apache's tests of authorizers ask for any principal and host.

`python -m system_tests.apache_tests.authorizer_process` prints its port and answers each POST of a JSON object. Its `do` says
what is asked, its `authorizer` of which of the authorizers, by a number that the tests give; the answer is JSON, too.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import SystemTime
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.authorizer_factory import ACL_AUTHORIZER, build_authorizer
from kafkapy.zk.kafka_zk_client import KafkaZkClient

Json = dict[str, Any]


class _Authorizers:
    """All that were configured and not closed, each with its own client of ZooKeeper."""

    def __init__(self) -> None:
        self._all: dict[int, tuple[Authorizer, KafkaZkClient]] = {}

    def answer(self, asked: Json) -> object:
        number = asked["authorizer"]
        if asked["do"] == "configure":
            config = KafkaConfig.from_properties({"authorizer.class.name": ACL_AUTHORIZER, **asked["configs"]})
            zk_client = KafkaZkClient.connect(config.zookeeper_connect)
            authorizer = build_authorizer(config, zk_client, SystemTime())
            authorizer.startup()
            self._all[number] = authorizer, zk_client
            return None
        if asked["do"] == "close":
            if number in self._all:
                authorizer, zk_client = self._all.pop(number)
                authorizer.shutdown()
                zk_client.close()
            return None
        return getattr(self, asked["do"])(self._all[number][0], asked)

    def authorize(self, authorizer: Authorizer, asked: Json) -> list[bool]:
        context = _context(asked)
        return [authorizer.authorize(context, *action) for action in asked["actions"]]

    def authorize_by_resource_type(self, authorizer: Authorizer, asked: Json) -> bool:
        return authorizer.authorize_by_resource_type(_context(asked), asked["operation"], asked["type"])

    def create(self, authorizer: Authorizer, asked: Json) -> list[Json]:
        results = authorizer.create_acls(_context(asked), [_binding(json) for json in asked["bindings"]])
        return [{"code": result.code, "message": result.message} for result in results]

    def delete(self, authorizer: Authorizer, asked: Json) -> list[list[Json]]:
        results = authorizer.delete_acls(_context(asked), [_filter(json) for json in asked["filters"]])
        return [[{"binding": _json(d.binding), "code": d.error.code} for d in deletions] for deletions in results]

    def acls(self, authorizer: Authorizer, asked: Json) -> list[Json]:
        return [_json(binding) for binding in authorizer.acls(_filter(asked["filter"]))]


def _context(asked: Json) -> RequestContext:
    return RequestContext("1", f"/{asked['host']}", "PLAINTEXT", principal=KafkaPrincipal(*asked["principal"]))


def _binding(json: Json) -> AclBinding:
    kind, name, pattern = json["pattern"]
    principal, host, operation, permission = json["entry"]
    entry = AccessControlEntry(principal, host, ACLOperation[operation], ACLPermissionType[permission])
    return AclBinding(AclPattern(ResourceType[kind], name, ACLResourcePatternType[pattern]), entry)


def _filter(json: Json) -> AclBindingFilter:
    """Written as a binding; a name, principal or host that is None stands for any."""
    (kind, name, pattern), entry = _binding(json)
    return AclBindingFilter(AclPatternFilter(kind, name, pattern), AccessControlEntryFilter(*entry))


def _json(binding: AclBinding) -> Json:
    (kind, name, pattern), (principal, host, operation, permission) = binding
    return {"pattern": [kind.name, name, pattern.name], "entry": [principal, host, operation.name, permission.name]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    authorizers = _Authorizers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self.authorizers.answer(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are of no interest."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 200
    daemon_threads = True


if __name__ == "__main__":
    server = _Server(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
