"""What a host and a gateway do with devices. No device loads it: memory is short there."""
