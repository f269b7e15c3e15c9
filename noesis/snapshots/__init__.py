"""Snapshots: the store as commits of a Git repository, its large files by Git LFS."""
