"""What npukit knows of failures: a log or traceback in, ranked findings with cause and remedy out.

    from npukit.knowledge import explain, read_log
    for finding in explain(read_log(path.read_bytes()), lang="zh"):
        ...

Everything known is data: ``failures/*.toml`` and ``phantoms.toml`` (``rows.py`` shows the form of a row), and
``codes.toml``. Nothing is read before the first call.
"""

from npukit.knowledge.diagnose import explain
from npukit.knowledge.finding import Finding
from npukit.knowledge.log import read_log
from npukit.knowledge.unknown import Advice, advise

__all__ = ["Advice", "Finding", "advise", "explain", "read_log"]
