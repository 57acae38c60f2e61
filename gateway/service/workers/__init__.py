"""Many gateways of one site: its devices in parts, each part one worker's at a time."""
