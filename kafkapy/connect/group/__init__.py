"""The group of a Connect cluster: the bytes of its protocol, its assignors, a worker's membership."""
