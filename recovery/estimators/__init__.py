"""One estimator a file, all of one signature: readings that have passed the veil in, heat out."""
