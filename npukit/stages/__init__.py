"""The front's half of every stage; torch is not imported here."""
