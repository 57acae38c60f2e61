"""What the gateway remembers."""
