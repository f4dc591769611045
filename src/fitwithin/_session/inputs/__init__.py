"""The inputs of a fit: what the user passed, checked, and made into what a session takes."""
