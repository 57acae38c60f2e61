"""What recovery returns: a map, how sure it is, and the promise that travels with it."""
