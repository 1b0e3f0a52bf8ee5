"""What `npukit env` reads: one probe per file, judged from facts that a test can record. Imports no torch."""
