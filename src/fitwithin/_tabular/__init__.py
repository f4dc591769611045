"""From a table in a file to a trained model: columns, encoding, training, model card."""
