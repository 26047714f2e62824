"""Dispatchers: from the records of topics to handlers of event classes."""
