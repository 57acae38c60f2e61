"""The service: rounds on a broker, from a message to a map."""
