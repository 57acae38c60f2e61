"""What the readings leave possible: the posterior of sources, exact or sampled."""
