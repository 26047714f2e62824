"""The main job: from real files to a Spark table, checked at every step.

`source` reads the input and counts it directly; `servers` starts ZooKeeper and a broker; `sharing` sends the lines and reads them
back with a consumer group that loses a member; `spark_job` counts with Spark what the topic holds; `picture` draws it.
"""
