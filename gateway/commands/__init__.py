"""What each command of `heatveil` does, and how it says so."""
