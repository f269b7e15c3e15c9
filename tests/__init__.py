"""The tests of Noesis."""
