"""What can be said of a text."""

TOO_SHORT, NOT_PROSE, UNKNOWN_LANGUAGE, NATURAL, FAKE = "too short", "not prose", "unknown language", "natural", "fake"
