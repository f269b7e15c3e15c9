"""The context engine: what goes into a prompt, and what a turn of a conversation leaves behind."""
