"""The worker's half of each stage: ``measure(context, request)`` gives what is stored as measured.

A module's name is the request's name. Nothing here judges.
"""
