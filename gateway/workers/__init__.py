"""Many gateways for one site: parts, leases, sums."""
