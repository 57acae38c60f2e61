"""How far maps are apart, and shares of rectangles; `recovery.distance` is the front."""
