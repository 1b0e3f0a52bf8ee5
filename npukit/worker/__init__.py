"""The child process in which torch runs; the command in front never imports torch."""
