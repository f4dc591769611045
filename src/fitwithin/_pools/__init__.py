"""Training rows by number, whatever holds them."""
