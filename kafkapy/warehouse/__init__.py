"""The warehouse: events of topics as rows of tables, on Spark.

`run` reads the topics and puts each batch into a table's `current` part, where it can be queried at once; `rollup` moves
hours that are over into Hive partitions `ds=…/hr=…`, each event once. A view per table shows both. What is true is said by
`snapshot.py` (pure) and kept by `ledger.py` (files that appear by a rename); the metastore follows it.
"""
