"""Installing npukit on a pod changes none of its packages, and the oldest transformers is served."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POD = {
    "torch": "2.9.0",
    "torch-npu": "2.9.0.post1",
    "transformers": "4.57.6",
    "huggingface-hub": "0.36.2",
    "tokenizers": "0.22.1",
    "safetensors": "0.6.2",
    "numpy": "1.26.4",
    "pillow": "11.3.0",
    "packaging": "25.0",
    "requests": "2.32.5",
    "filelock": "3.20.0",
    "tqdm": "4.67.1",
    "urllib3": "2.5.0",
    "pyyaml": "6.0.3",
    "rich": "14.1.0",
    "setuptools": "80.9.0",
}
OLDEST = ("transformers==4.49.0", "tokenizers==0.21.4", "huggingface_hub==0.26.5")
TINY_LLAMA = """
import sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers, decoders
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
torch.manual_seed(0)
letters = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
words = {letter: number for number, letter in enumerate(letters)}
tokenizer = Tokenizer(models.BPE(words, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
fast.save_pretrained(sys.argv[1])
config = LlamaConfig(vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, bos_token_id=0, eos_token_id=1)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
"""


@pytest.mark.slow
def test_a_pod_keeps_its_packages(tmp_path: Path) -> None:
    pod = tmp_path / "pod"
    venv.create(pod, with_pip=True)
    packages = next(pod.glob("lib/python*/site-packages"))
    for name, version in POD.items():
        info = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
        )
        (info / "RECORD").touch()
        (info / "INSTALLER").write_text("pip\n", encoding="utf-8")
    plan = tmp_path / "plan.json"
    command = [pod / "bin" / "python", "-m", "pip", "install", "--dry-run", "--report", plan, f"{ROOT}[npu]"]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    added = {
        row["metadata"]["name"].lower().replace("_", "-") for row in json.loads(plan.read_text())["install"]
    }
    assert "npukit" in added
    assert not added & set(POD)


@pytest.mark.slow
def test_the_oldest_transformers(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages)]
    subprocess.run([*install, *OLDEST], check=True, capture_output=True)
    model = tmp_path / "llama"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}",
        "NPUKIT_HOME": str(tmp_path / "home"),
    }

    def run(*command: str) -> str:
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        return ran.stdout

    run(sys.executable, "-c", TINY_LLAMA, str(model))
    document = json.loads(run(sys.executable, "-m", "npukit", "run", f"{model}/", "--json", "--rounds", "2"))
    failed = {c["id"] for stage in document["stages"] for c in stage["checks"] if c["verdict"] == "fail"}
    assert failed <= {"quality.known", "quality.entropy"}, "the weights are random, and nothing else is wrong"
    assert [stage["stage"] for stage in document["stages"]][-1] == "bench"
    assert document["stages"][-1]["environment"]["transformers"] == "4.49.0"
