"""What the service knows of each mechanism beside its four verbs: one entry each, one table."""
