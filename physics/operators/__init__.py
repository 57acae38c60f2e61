"""Forward operators that are never formed whole, and the one that suits a task."""
