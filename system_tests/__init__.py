"""Tests of whole systems: real processes, real clients, real faults. `bin/run-system-tests.sh` runs them."""
