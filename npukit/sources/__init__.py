"""Where models come from, one source per file."""
