"""A model over HTTP, in OpenAI's shape. ``asked`` and ``replies`` are pure; ``app`` needs npukit[serve]."""
