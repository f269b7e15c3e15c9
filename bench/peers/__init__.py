"""The product beside other memories and vector stores, on the same texts with the same vectors."""
