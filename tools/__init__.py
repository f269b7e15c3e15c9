"""Tools for whoever works on this repository."""
