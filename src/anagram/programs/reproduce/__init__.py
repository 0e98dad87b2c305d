"""The paper's experiments: a plan of runs, their results, and tables and figures beside the paper's own numbers."""
