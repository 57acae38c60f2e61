"""Without a service: days in simulated rooms, recorded frames, the papers' figures made again."""
