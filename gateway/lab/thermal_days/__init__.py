"""A day in a room: what was warm, what the wire carries, what is recovered of it."""
