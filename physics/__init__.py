"""The world: how heat spreads, what sensors see of it, and virtual devices that look at it."""
