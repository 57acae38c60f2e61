"""What is proved about maps: from the readings, from the theory, and what nobody beats."""
