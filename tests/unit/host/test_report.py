import json

import pytest

from npukit.errors import NpukitError
from npukit.host.difference import differences, read_report
from npukit.host.fix import fix
from npukit.host.report import anonymous, document, pasteable, private_words
from npukit.host.survey import judge, survey
from npukit.host.verdict import Fix, Verdict
from tests.fixtures.recorded_host import RecordedHost, recorded_host


def report_of(name):
    host = recorded_host(name)
    facts = survey(host)
    return json.loads(json.dumps(document(facts, judge(facts), 1.0, host)))


def test_nothing_private_leaves():
    host = RecordedHost({"environ": {"HOME": "/home/ada", "USER": "ada", "HOSTNAME": "pod-7f9"}})
    words = private_words(host)
    told = {
        "path": "/home/ada/Ascend by ada on pod-7f9",
        "list": ["https://ada:pw@mirror/x", "Authorization: Bearer abc.def", "hf_" + "a" * 34],
        "kept": ["adapter", "canada", 7, None, "/home/adam"],
    }
    assert anonymous(told, words) == {
        "path": "~/Ascend by USER on HOST",
        "list": ["https://mirror/x", "Authorization: Bearer TOKEN", "TOKEN"],
        "kept": ["adapter", "canada", 7, None, "/home/adam"],
    }


def test_a_pasted_block_has_every_line_and_every_remedy():
    report = report_of("torch_npu_without_cann")
    text = pasteable(report)
    assert all(verdict["id"].partition(".")[0] in text for verdict in report["verdicts"])
    assert text.count("**fail ") == report["counts"]["fail"] == 2
    assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in text and "\n| level" not in text
    assert "ada" not in text.replace("adapter", "")


def test_a_machine_does_not_differ_from_itself():
    assert differences(report_of("pod_910b"), report_of("pod_910b")) == []


def test_two_machines_differ_in_facts_and_verdicts():
    found = {d.name: (d.a, d.b) for d in differences(report_of("pod_910b"), report_of("mismatched"))}
    assert found["packages.torch_npu"] == ("2.9.0.post1", "2.8.0")
    assert found["cann.version"] == ("8.5.1", "8.0.RC3")
    assert found["verdict versions.mismatch"] == ("(none)", "fail")
    assert found["torch.imports[torch].ok"] == ("True", "False")
    assert not any("seconds" in name for name in found)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format": 1}'])
def test_what_is_no_report_is_named(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(NpukitError) as caught:
        read_report(path)
    assert caught.value.code == "env.not-a-report" and str(path) in str(caught.value)


def test_fix_takes_the_safe_steps_and_names_the_rest(tmp_path):
    wanted, blocked = tmp_path / "a" / "cache", tmp_path / "file" / "cache"
    (tmp_path / "file").write_text("")
    verdicts = [
        Verdict("v.one", "warn", "", "", "", (Fix("mkdir", str(wanted)), Fix("line", "export B=1"))),
        Verdict("v.two", "warn", "", "", "", (Fix("mkdir", str(blocked)),)),
        Verdict(
            "v.three", "fail", "", "", "", (Fix("line", "source /set_env.sh"), Fix("line", "export B=1"))
        ),
        Verdict("v.four", "fail", "", "", "reboot"),
        Verdict("v.five", "ok", ""),
    ]
    fixed = fix(verdicts, tmp_path / "home" / "env.sh")
    assert wanted.is_dir() and fixed.created == (str(wanted),) and fixed.refused == (str(blocked),)
    written = (tmp_path / "home" / "env.sh").read_text().splitlines()
    assert written[1:] == ["source /set_env.sh", "export B=1"] and written[0].startswith("#")
    assert fixed.left == ("v.four",)
    assert fix(verdicts, tmp_path / "home" / "env.sh") == fixed  # twice changes nothing


def test_fix_without_anything_to_do_writes_nothing(tmp_path):
    fixed = fix([Verdict("v.ok", "ok", "")], tmp_path / "env.sh")
    assert fixed.env_file == "" and not list(tmp_path.iterdir())
