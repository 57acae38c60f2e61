"""The link to the broker, and nothing else."""
