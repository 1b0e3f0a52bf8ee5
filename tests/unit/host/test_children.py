"""The scripts that run in a child, run for real against stand-ins."""

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from npukit.host.hubs import hubs
from npukit.host.machine import LocalHost
from npukit.host.torch_seen import torch_seen


class Hub(BaseHTTPRequestHandler):
    gate = threading.Event()

    def do_HEAD(self):
        if self.path == "/silent":
            self.gate.wait(30)
        self.send_response(503 if self.path == "/down" else 405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Hub.gate.clear()
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    serving.daemon_threads = True
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    Hub.gate.set()
    serving.shutdown()
    thread.join()
    serving.server_close()


def host_with(**environ):
    kept = {name: value for name, value in LocalHost().environ.items() if "proxy" not in name.lower()}
    return replace(LocalHost(), environ={**kept, **environ})


def test_hubs_answer_refuse_and_keep_silent(server, monkeypatch):
    monkeypatch.setattr(
        "npukit.host.hubs.HUBS", (("a", "A", ""), ("b", "B", ""), ("c", "C", ""), ("d", "D", ""))
    )
    host = host_with(
        A=f"{server}/", B=f"{server}/down", C="http://user:secret@127.0.0.1:9", D=f"{server}/silent"
    )
    a, b, c, d = hubs(host, limit_s=0.5)
    assert (a.status, a.reached) == (405, True)  # it answers: that is all that was asked
    assert (b.status, b.reached) == (503, False)
    assert c.endpoint == "http://127.0.0.1:9" and not c.reached and c.error
    assert not d.reached and d.error


def packages(tmp_path, **modules):
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    return host_with(PYTHONPATH=str(tmp_path))


def test_an_import_that_fails_tells_the_innermost_reason(tmp_path):
    text = """
try:
    raise ImportError("libhccl.so: cannot open shared object file")
except ImportError as error:
    raise RuntimeError("Failed to load the backend extension") from error
"""
    host = packages(tmp_path, torch="print('chatter')\n" + text)
    seen = torch_seen(host, ("torch", "transformers"))
    assert [found.module for found in seen.imports] == ["torch"]
    assert seen.imports[0].root == "ImportError: libhccl.so: cannot open shared object file"
    assert seen.imports[0].error.startswith("RuntimeError") and "libhccl" in seen.imports[0].traceback


def test_without_autoload_is_tried_only_when_torch_fails(tmp_path):
    text = "import os\nif os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD') != '0': raise RuntimeError('no')\n"
    seen = torch_seen(
        packages(tmp_path, torch=text, torch_npu="raise ImportError('x')"), ("torch", "torch_npu")
    )
    assert [(found.module, found.ok) for found in seen.imports] == [("torch", False)]
    assert [(found.module, found.ok) for found in seen.plain] == [("torch", True), ("torch_npu", False)]


def test_a_crash_is_told_with_the_place(tmp_path):
    crash = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    seen = torch_seen(packages(tmp_path, torch="", torch_npu=crash), ("torch", "torch_npu"))
    assert seen.died == "killed by signal 11" and seen.at == "torch_npu"
    assert seen.imported("torch") and not seen.imported("torch_npu")


def test_a_hang_is_ended(tmp_path):
    seen = torch_seen(packages(tmp_path, torch="import time\ntime.sleep(600)\n"), ("torch",), limit_s=1.0)
    assert seen.died == "no end in 1 s" and seen.at == "torch"


def test_an_exit_from_an_import_is_a_failure_of_it(tmp_path):
    seen = torch_seen(packages(tmp_path, torch="raise SystemExit(7)"), ("torch",))
    assert not seen.imports[0].ok and "SystemExit" in seen.imports[0].error and not seen.died


def test_busy_devices_are_not_touched(tmp_path):
    host = packages(tmp_path, torch="cpu = None\n")
    (tried,) = torch_seen(host, ("torch",)).devices
    assert tried.device == "cpu" and "AttributeError" in tried.root
    assert torch_seen(host, ("torch",), {"cpu": "another run"}).devices == ()
