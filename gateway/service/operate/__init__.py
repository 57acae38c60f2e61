"""What lets a gateway be left alone: health, metrics, schedule, quarantine."""
