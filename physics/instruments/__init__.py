"""Real thermometers: what their data sheets say, and what they would read."""
