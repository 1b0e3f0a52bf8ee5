"""Other programs that are to serve a model: what they would make of its files, read and not run."""
