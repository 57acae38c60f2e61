"""Heat kernels: walls of any kind, matrices, sizes, and heat that is given off over time."""
