"""Without a service: days in simulated rooms, the papers' figures made again."""
