"""Crowds in squares within squares on the command line, where secure sums are simulated."""
