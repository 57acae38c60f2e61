"""Real thermometers and thermal arrays: what their data sheets say, and what they would read."""
