"""A Kafka that is right by construction, and clients of it whose histories are random."""

from __future__ import annotations

from random import Random

from system_tests.history import History, Kind, Partition


class SimulatedKafka:
    """Logs in memory; who sends, polls, commits and joins is drawn from `chance`.

    A log has values; None stands where a transaction ends.
    """

    def __init__(self, chance: Random, transactional: bool) -> None:
        self.chance = chance
        self.transactional = transactional
        self.history = History()
        self.partitions: list[Partition] = [("t", number) for number in range(chance.randint(1, 3))]
        self.logs: dict[Partition, list[int | None]] = {partition: [] for partition in self.partitions}
        self.aborted: set[int] = set()
        self.open: set[int] = set()
        self.committed: dict[Partition, int] = dict.fromkeys(self.partitions, 0)
        self.positions: dict[tuple[str, Partition], int] = {}
        self.owners: dict[Partition, str] = {}
        self.transactions = 0
        self.value = 0

    def run(self, steps: int) -> History:
        self.rebalance()
        for _ in range(steps):
            self.chance.choice([self.send, self.poll, self.poll, self.commit, self.rebalance])()
        self.rebalance()
        self.read_to_the_end()
        return self.history

    def send(self) -> None:
        if self.transactional and self.chance.random() < 0.7:
            self.transaction()
            return
        for _ in range(self.chance.randint(1, 4)):
            partition, value = self.invoke(None)
            match self.chance.choice(["ok", "ok", "ok", "fail", "info", "lost", "none"]):
                case "ok":
                    self.append(partition, value)
                    self.history.ok("p", partition, value, len(self.logs[partition]) - 1)
                case "fail":
                    self.history.fail("p", partition, value)
                case "info":
                    self.append(partition, value)
                    self.history.info("p", partition, value)
                case "lost":
                    self.history.info("p", partition, value)

    def transaction(self) -> None:
        self.transactions += 1
        commit = self.chance.random() < 0.6
        touched: dict[Partition, None] = {}
        for _ in range(self.chance.randint(1, 4)):
            partition, value = self.invoke(self.transactions)
            self.open.add(value)
            self.append(partition, value)
            self.history.ok("p", partition, value, len(self.logs[partition]) - 1)
            touched[partition] = None
            if self.chance.random() < 0.5:
                self.poll()
        self.history.end_transaction(Kind.INVOKE, "p", self.transactions, commit)
        if not commit:
            self.aborted |= self.open
        self.open.clear()
        for partition in touched:
            self.logs[partition].append(None)
        self.history.end_transaction(Kind.OK, "p", self.transactions, commit)

    def invoke(self, transaction: int | None) -> tuple[Partition, int]:
        self.value += 1
        partition = self.chance.choice(self.partitions)
        self.history.invoke("p", partition, self.value, transaction)
        return partition, self.value

    def append(self, partition: Partition, value: int) -> None:
        self.logs[partition].append(value)

    def poll(self) -> None:
        self.read(self.chance.choice(["c1", "c2"]), self.chance.randint(1, 5))

    def read(self, member: str, at_most: int) -> None:
        records: list[tuple[Partition, int, int]] = []
        for partition, owner in self.owners.items():
            if owner != member:
                continue
            position = self.positions[member, partition]
            for value in self.logs[partition][position:]:
                if value in self.open or len(records) >= at_most:
                    break
                if value is not None and value not in self.aborted:
                    records.append((partition, position, value))
                position += 1
            self.positions[member, partition] = position
        self.history.poll(member, records, read_committed=True)

    def commit(self) -> None:
        for partition, owner in self.owners.items():
            self.committed[partition] = self.positions[owner, partition]
            self.history.commit(owner, "g", {partition: self.committed[partition]})

    def rebalance(self) -> None:
        """Partitions go to random members, which go on at the committed offset: what was not committed comes again."""
        for partition in self.partitions:
            self.owners[partition] = self.chance.choice(["c1", "c2"])
            self.positions[self.owners[partition], partition] = self.committed[partition]
        for member in ("c1", "c2"):
            owned = [partition for partition, owner in self.owners.items() if owner == member]
            self.history.assign(member, owned, "g")

    def read_to_the_end(self) -> None:
        for member in ("c1", "c2"):
            self.read(member, 1 << 30)
        self.history.assign("reader", self.partitions)
        for partition in self.partitions:
            records = [(partition, offset, value) for offset, value in enumerate(self.logs[partition]) if value]
            self.history.poll("reader", records)
