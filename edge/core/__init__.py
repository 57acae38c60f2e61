"""Records, keys, exact noise, budget and node: a device without its link."""
