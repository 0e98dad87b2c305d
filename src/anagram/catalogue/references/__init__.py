"""Classical solvers for the problems of the catalogue that have no closed solution."""
