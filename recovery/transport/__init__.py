"""Optimal transport between maps, a way a file; `recovery.distance` is its front."""
