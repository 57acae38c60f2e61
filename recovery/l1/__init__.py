"""Constrained l1 minimisation, piece by piece; `recovery.sparse` is its front."""
