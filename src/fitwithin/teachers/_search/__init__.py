"""Search of settings: parameter spaces, and suggestions in them."""
