"""From a bare board to a device that may report, and what a board will need."""
