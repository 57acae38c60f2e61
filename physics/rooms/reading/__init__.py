"""A room file, from its text to a Room: each table, each key, and each fault by its line."""
