"""What the converters of a schema registry share: settings, subjects, ids of schemas."""
