"""What is tried on real devices, on the gateway, on links and on files of keys."""
