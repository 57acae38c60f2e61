"""Heat in a room of many materials, by finite volumes: what no closed form can say."""
