"""The switch to another embedder: a sibling generation with the same rows and new vectors."""
