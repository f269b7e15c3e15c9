"""The snapshots, with real Git and Git LFS."""
