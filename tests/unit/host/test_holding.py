from npukit.devices.lock import device_lock
from npukit.devices.name import DeviceName
from npukit.host.holding import hold_free_cards
from npukit.host.survey import judge, survey
from tests.fixtures.recorded_host import recorded_host


def test_a_card_on_which_another_run_measures_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("NPUKIT_LOCKS", raising=False)
    host = recorded_host("pod_910b")
    with device_lock(DeviceName("npu", 1), tmp_path), hold_free_cards(host, tmp_path) as busy:
        assert list(busy) == ["npu:1"]
        verdicts = judge(survey(host, busy=busy))
    (line,) = [verdict for verdict in verdicts if verdict.id == "compute.busy"]
    assert line.level == "info" and "npu:1" in line.seen and busy["npu:1"] in line.seen
    with hold_free_cards(host, tmp_path) as busy:
        assert busy == {}


def test_no_place_for_locks_is_no_reason_to_stop(tmp_path):
    (tmp_path / "file").write_text("")
    with hold_free_cards(recorded_host("pod_910b"), tmp_path / "file" / "locks") as busy:
        assert busy == {}
