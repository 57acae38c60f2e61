"""What many users would answer at once, by numpy: for experiments, never for a release."""
