"""The benchmark: runs that are complete and resumable, what they measure, and the experiments made of them."""
