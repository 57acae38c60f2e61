"""Disk: people in cells, a device each, and answers near the true cell."""
