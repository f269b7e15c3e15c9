"""Duplicates: memories of one agent that say the same, found, shown and decided on."""
