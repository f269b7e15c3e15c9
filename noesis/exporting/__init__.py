"""Export: all memories that are wanted, as they were in one instant, in a form that can be imported again."""
