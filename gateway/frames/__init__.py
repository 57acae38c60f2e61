"""Recorded frames of a thermal array, through the veil and back: `heatveil play --frames`."""
