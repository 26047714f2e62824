"""The topic repository: topics declared in files, a plan of changes, a catalogue."""
