"""Proof that a model's files are whole: a record of contents, and what the files say about themselves."""

from npukit.proof.checkpoint import Contents, Fault, inspect
from npukit.proof.headers import HeaderError, Tensor, read_header
from npukit.proof.record import FileProof, Proof, hash_file, load, prove, recheck, save, untouched

__all__ = [
    "Contents",
    "Fault",
    "FileProof",
    "HeaderError",
    "Proof",
    "Tensor",
    "hash_file",
    "inspect",
    "load",
    "prove",
    "read_header",
    "recheck",
    "save",
    "untouched",
]
