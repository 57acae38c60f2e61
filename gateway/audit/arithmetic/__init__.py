"""What is reckoned, enumerated and searched: the samplers' laws, the accountant, the most a move changes."""
