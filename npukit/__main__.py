"""``python -m npukit``."""

from npukit.cli.app import entry

entry()
