"""The warehouse: events of topics as rows of tables, on Spark.

`run` reads the topics and adds each batch to a table's `current` part, where it can be queried immediately. `rollup`
moves past hours into Hive partitions `ds=…/hr=…`, with each event once. A view per table shows both. `ledger.py`
stores the state in files that appear by a rename, `snapshot.py` (no I/O) interprets it, and the metastore is updated
from it.
"""
