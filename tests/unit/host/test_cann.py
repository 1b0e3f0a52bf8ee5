import pytest

from npukit.host.cann import cann, cann_version, kernel_name
from npukit.host.npu_smi import npu_smi
from tests.fixtures.recorded_host import RecordedHost, recorded_host


def test_new_layout():
    found = cann(recorded_host("pod_910b"))
    assert (found.version, found.layout, found.source) == ("8.5.1", "cann", "ASCEND_HOME_PATH")
    assert found.loaded and found.python_path and found.opp
    assert found.set_env == "/usr/local/Ascend/cann-8.5.1/set_env.sh"
    assert (found.missing_libraries, found.kernels, found.others) == ((), ("ascend910b",), ())
    assert found.atb_version == "8.5.1"


def test_old_layout():
    found = cann(recorded_host("pod_910_93_shared"))
    assert (found.version, found.layout) == ("8.3.RC1", "ascend-toolkit")
    assert found.set_env == "/usr/local/Ascend/ascend-toolkit/set_env.sh"
    assert found.others == ()  # latest is a link to 8.3.RC1: one toolkit, not two


def test_found_on_disk_without_variables():
    found = cann(recorded_host("cann_not_loaded"))
    assert (found.home, found.source, found.loaded) == ("/usr/local/Ascend/cann", "found", False)


def test_none():
    assert cann_version(recorded_host("laptop")) is None


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"/c/aarch64-linux/ascend_toolkit_install.info": "version=9.0.0\n"}, "9.0.0"),
        ({"/c/ascend_nnrt_install.info": "package_name=Ascend-cann-nnrt\nversion=8.0.RC3\n"}, "8.0.RC3"),
        ({"/c/version.cfg": "# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.0]\n"}, "8.0.0"),
        ({"/c/version.cfg": "runtime_running_version=[1.83.T8.0.B128:CANN-1.83]\n"}, "1.83"),
        ({"/c/runtime/version.info": "Version=7.6.0.1.220\nversion_dir=8.0.0\n"}, "8.0.0"),
        ({"/c/share/info/runtime/version.info": "Version=8.5.0\n"}, "8.5.0"),
        ({"/c/runtime/version.info": "Version=7.6.0.1.220\n"}, ""),
        ({"/c/lib64/libascendcl.so": ""}, ""),
    ],
)
def test_version_from_each_file_that_tells(files, version):
    assert cann(RecordedHost({"environ": {"ASCEND_HOME_PATH": "/c"}, "files": files})).version == version


def test_version_from_the_directory_when_no_file_tells():
    host = RecordedHost({"files": {"/usr/local/Ascend/cann-9.0.0/lib64/libascendcl.so": ""}})
    assert cann(host).version == "9.0.0"


def test_a_users_own_installation_is_found():
    files = {"/home/ada/Ascend/ascend-toolkit/8.2.RC1/set_env.sh": ""}
    found = cann(RecordedHost({"environ": {"HOME": "/home/ada"}, "files": files}))
    assert (found.home, found.version) == ("/home/ada/Ascend/ascend-toolkit/8.2.RC1", "8.2.RC1")


@pytest.mark.parametrize(
    ("name", "kernels"),
    [("pod_910b", {"ascend910b"}), ("pod_910_93_shared", {"ascend910_93"}), ("atlas_310p", {"ascend310p"})],
)
def test_kernels_are_named_after_the_chip(name, kernels):
    chips = npu_smi(recorded_host(name)).chips
    assert {kernel_name(chip, chips) for chip in chips} == kernels
