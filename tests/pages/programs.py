"""The Python programs of README.md and docs/*.md, made whole.

A program is a block of a page that is marked as `python`. What it uses and doesn't make (`consumer` after the page has shown how
one is made, a Spark session) comes from `GIVEN`, in lines before it; a program that needs something else is an error.
`python -m tests.pages.programs DIRECTORY` writes them as files, for a type checker or a look.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.compile(r"^#+ (?P<heading>[^\n]*)$|^```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

GIVEN = {
    "consumer": """
from kafkapy import KafkaConsumer

consumer = KafkaConsumer(
    "events", group_id="readers", bootstrap_servers="localhost:9092", auto_offset_reset="earliest"
)
""",
    "producer": """
from kafkapy import KafkaProducer

producer = KafkaProducer(bootstrap_servers="localhost:9092")
""",
    "spark": """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
""",
    "df": """
df = spark.createDataFrame([("key", "value")], "key string, value string")
""",
    "offsets": """
from kafkapy import OffsetAndMetadata, TopicPartition

offsets = {TopicPartition("events", 0): OffsetAndMetadata(3)}
""",
}
"""What programs may use without making it, in the order in which it is made."""


NEEDS = {"clients.md: FastAPI 1": "fastapi"}
"""Packages of others that programs show, and that need not be installed."""


@dataclass(frozen=True)
class Program:
    page: str
    heading: str
    number: int
    """From 1 on, under its heading."""
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}: {self.heading} {self.number}"

    @property
    def can_run(self) -> bool:
        """Is the package there that it needs beside kafkapy's own extras?"""
        return self.name not in NEEDS or find_spec(NEEDS[self.name]) is not None

    def whole(self) -> str:
        """With what it is given. ValueError for names that nobody gives."""
        free = free_names(self.text)
        if unknown := free - GIVEN.keys():
            raise ValueError(f"{self.name} uses what it does not make: {', '.join(sorted(unknown))}")
        return "".join(text.lstrip() for name, text in GIVEN.items() if name in free) + self.text


def free_names(text: str) -> set[str]:
    """Names that a program uses and nowhere binds."""
    used: set[str] = set()
    bound = {*dir(builtins), "__name__", "__file__"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound


def programs_of(page: str, markdown: str) -> Iterator[Program]:
    heading, number = "", 0
    for block in BLOCKS.finditer(markdown):
        if block["text"] is None:
            heading, number = block["heading"], 0
        else:
            number += 1
            yield Program(page, heading, number, block["text"])


def all_programs() -> list[Program]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [program for page in pages for program in programs_of(page.name, page.read_text())]


def write_programs(directory: Path) -> list[Path]:
    """Each that can run as a file of its own, named by page, heading and number."""
    paths = []
    for program in filter(lambda program: program.can_run, all_programs()):
        path = directory / (re.sub(r"\W+", "_", program.name.replace(".md", "")).lower() + ".py")
        path.write_text(program.whole())
        paths.append(path)
    return paths


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(*write_programs(target), sep="\n")
