"""`pip install kafkapy` is the clients: small, without what only the broker, Arrow tables or Spark need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.markers import Marker

from tests.broker_process import BrokerProcess
from tests.installation import bare_environment, copy_of_sources, pip, site_packages, variables

pytestmark = pytest.mark.integration

ZOOKEEPER_PROPERTIES = Path(__file__).parents[1] / "config" / "zookeeper.properties"
MACHINE_CODE = 7 << 20
"""What a wheel for a platform has besides."""

ROUND_TRIP = """
import sys
from kafkapy import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.admin import NewTopic
server = sys.argv[1]
with KafkaAdminClient(bootstrap_servers=server) as admin:
    admin.create_topics([NewTopic("light", 3, 1)])
values = [b"%d" % i for i in range(1500)]
for start, codec in enumerate((None, "gzip", "snappy", "lz4", "zstd")):
    some = values[start * 300 : start * 300 + 300]
    with KafkaProducer(bootstrap_servers=server, compression_type=codec) as producer:
        producer.send_many("light", some, keys=some)
with KafkaConsumer("light", bootstrap_servers=server, auto_offset_reset="earliest", consumer_timeout_ms=300000) as consumer:
    records = [record for _, record in zip(range(1500), consumer)]
print(sorted(record.value for record in records) == sorted(values) and all(r.key == r.value for r in records))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of an environment with a wheel and what it says that it needs, without any extra."""
    directory = tmp_path_factory.mktemp("light")
    (directory / "sources").mkdir()
    sources = copy_of_sources(directory / "sources")
    python = bare_environment(directory / "venv")
    site = site_packages(directory / "venv")
    pip_options = ["--no-deps", "--no-build-isolation", "--no-index"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKAPY_COMPILED", "0")
        pip(sys.executable, "wheel", *pip_options, "-w", directory, sources)
    pip(python, "install", *pip_options, *directory.glob("*.whl"))
    (kafkapy,) = distributions(name="kafkapy", path=[str(site)])
    for other in needed_by(kafkapy, {}).values():
        for file in other.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), target)
    return site


def needed_by(package: Distribution, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """What it needs, and what that needs, without extras."""
    for requirement in package.requires or ():
        name, _, marker = requirement.partition(";")
        name = re.split(r"[^\w.-]", name.strip())[0]
        if "extra ==" not in marker and name not in found and applies(marker):
            found[name] = distribution(name)
            needed_by(found[name], found)
    return found


def applies(marker: str) -> bool:
    """Of an environment marker, for this Python and system."""
    return not marker.strip() or Marker(marker).evaluate()


def run(site: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    python = site.parents[2] / "bin" / "python"
    return subprocess.run([python, "-c", program, *arguments], cwd="/", env=variables(), capture_output=True, text=True)


def test_it_is_small(site: Path) -> None:
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    assert size + MACHINE_CODE < 54e6
    installed = {path.name.lower() for path in site.iterdir()}
    assert not installed & {"twisted", "kazoo", "numpy", "pyarrow", "pandas", "pyspark", "numba", "zstandard"}


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    assert process.stop() == 0


def test_the_clients_work_with_it(site: Path, broker: BrokerProcess) -> None:
    done = run(site, ROUND_TRIP, broker.address)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_tools_that_are_clients_work_with_it(site: Path, broker: BrokerProcess) -> None:
    topics = site.parents[2] / "bin" / "kafka-topics"
    command: list[str | Path] = [topics, "--bootstrap-server", broker.address, "--create", "--topic", "made"]
    done = subprocess.run(command, env=variables(), capture_output=True, text=True)
    assert done.stdout == "Created topic made.\n", done.stderr


@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("import kafkapy.tx", "broker"),
        (
            "from kafkapy.tools.servers.kafka_server import main; raise SystemExit(main(['server.properties']))",
            "broker",
        ),
        ("from kafkapy.spark import KafkaDataSource", "spark"),
        ("from kafkapy.consumer.to_arrow import to_arrow; to_arrow({}, 'topic')", "arrow"),
        ("from kafkapy.producer.arrow_send import sends_of_arrow; sends_of_arrow(None, None, None, None)", "arrow"),
        (
            f"from kafkapy.tools.zookeeper.server_start import main; raise SystemExit(main(['{ZOOKEEPER_PROPERTIES}']))",
            "broker",
        ),
        (
            "from kafkapy.tools.zookeeper.server_start import main; "
            f"raise SystemExit(main(['--apache', '{ZOOKEEPER_PROPERTIES}']))",
            "zookeeper",
        ),
    ],
)
def test_a_missing_extra_is_named(site: Path, program: str, extra: str) -> None:
    done = run(site, program)
    assert done.returncode == 1
    assert re.search(rf"pip install ['\"]kafkapy\[{extra}\]['\"]", done.stderr.splitlines()[-1]), done.stderr
