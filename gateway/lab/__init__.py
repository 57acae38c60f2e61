"""What no service runs: days in simulated rooms, recorded frames, and the papers' figures made again."""
