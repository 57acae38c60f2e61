"""Thermal: warmth in a room, thermometers, and noise on each reading."""
