"""A run: its setting and budget, blocks of steps, points that move, and what is seen of it."""
