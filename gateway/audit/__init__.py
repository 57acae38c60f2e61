"""The audit: every promise of every mechanism, held against what the code really does."""
