"""An S3-compatible bucket, spoken to over plain HTTP with signatures of our own."""
