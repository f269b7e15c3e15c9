"""pytest plugins of this suite, loaded by the top conftest."""
