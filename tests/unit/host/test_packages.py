from npukit.host.machine import Package
from npukit.host.packages import canonical, distributions, versions
from npukit.host.pins import BrokenPin, broken_pins


def install(directory, name, version):
    info = directory / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_versions_of_what_is_installed_and_not():
    found = versions(("numpy", "no-such-package"))
    assert found["numpy"][0].isdigit()
    assert found["no-such-package"] is None


def test_a_sandbox_comes_first(tmp_path):
    install(tmp_path, "huggingface_hub", "9.9.9")
    assert versions(("huggingface-hub",), extra_path=tmp_path) == {"huggingface-hub": "9.9.9"}
    assert versions(("huggingface_hub",))["huggingface_hub"] != "9.9.9"
    assert distributions(tmp_path)["huggingface-hub"].version == "9.9.9"


def test_a_half_removed_package_is_not_installed(tmp_path):
    (tmp_path / "ghost-1.0.dist-info").mkdir()
    assert versions(("ghost",), extra_path=tmp_path) == {"ghost": None}
    assert "ghost" not in distributions(tmp_path)


def test_names_are_compared_as_indexes_do():
    assert canonical("Torch_NPU") == canonical("torch-npu") == canonical("torch.npu")


def test_pins():
    packages = {
        "transformers": Package(
            "5.7.0",
            (
                "tokenizers>=0.22",
                "httpx<1",
                "torch>=2 ; extra == 'torch'",
                "a line that is none",
                "numpy>=1.17",
            ),
        ),
        "tokenizers": Package("0.21.4"),
        "numpy": Package("a vendor's"),
        "torch": Package("2.13.0+cpu"),
        "torch-npu": Package("2.13.0", ("torch==2.13.0.*",)),
        "bystander": Package("1.0", ("tokenizers<0.1",)),
    }
    assert broken_pins(packages) == (
        BrokenPin("transformers", "tokenizers>=0.22", "0.21.4"),
        BrokenPin("transformers", "httpx<1", ""),
    )
