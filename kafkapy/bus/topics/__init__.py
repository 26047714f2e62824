"""The topic repository: topics declared in files, a plan of what that changes, a catalogue."""
