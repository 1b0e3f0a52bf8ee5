"""Download one file over HTTP: resumed after any death, hashed while it arrives, ranges in parallel.

The client libraries lose what a killed process had, or do not hash (each version in its own way); so the
bytes are fetched here, from the addresses that the clients give. A part on disk always holds the file's
beginning without a gap: ranges that arrive early wait in memory (a few of ``MAX_SEGMENT_BYTES``), so the
part's length is all there is to know after a kill. The hash of what is there already is computed once.
"""
