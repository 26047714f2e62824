"""From events to tables on real input of this machine: `bin/demo-pipeline.sh`."""
