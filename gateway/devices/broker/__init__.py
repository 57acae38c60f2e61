"""Brokers: one for a demonstration, and the files of one's own."""
