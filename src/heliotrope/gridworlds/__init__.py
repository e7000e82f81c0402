"""Multi-objective safety gridworlds: island, boat race and dark sea."""
