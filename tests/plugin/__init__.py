"""The OpenClaw plugin against the real gateway, a scripted model and a running Noesis."""
