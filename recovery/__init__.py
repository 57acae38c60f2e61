"""The analyst: from a question to whole-number noise, and from blurred readings to a map."""
