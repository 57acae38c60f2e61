"""Home Assistant: results and the gateway's own health, and nothing of any single device."""
