"""The schema repository: a folder of schema files with versions MODEL.REVISION.ADDITION."""
