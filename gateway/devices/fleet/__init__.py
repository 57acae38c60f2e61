"""Virtual devices on a real broker."""
