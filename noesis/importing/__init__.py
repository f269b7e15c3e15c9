"""Import: bring in what other programs, files and our own exports remember."""
