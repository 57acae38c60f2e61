"""Recorded rooms: what they tell of a room's figures, and how well these foretell other days."""
