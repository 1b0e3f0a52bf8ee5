from hypothesis import given
from hypothesis import strategies as st

from npukit.host.npu_smi import npu_cards, npu_smi, parse_fields, parse_info
from tests.fixtures.recorded_host import NPU_SMI, recorded_host

MIB = 1 << 20


def table(name):
    return (NPU_SMI / f"{name}.txt").read_text(encoding="utf-8")


def test_one_chip_per_card():
    first, second = parse_info(table("910b3"))
    assert (first.name, first.npu_id, first.chip_id, first.physical_id) == ("Ascend910B3", 0, 0, 0)
    assert (first.health, first.bus_id, first.temperature_c, first.aicore_percent) == (
        "OK",
        "0000:C1:00.0",
        50,
        0,
    )
    assert (first.memory_used_bytes, first.memory_total_bytes) == (3369 * MIB, 65536 * MIB)
    assert (second.npu_id, second.physical_id, second.memory_used_bytes) == (1, 1, 3368 * MIB)


def test_two_chips_per_card_have_their_own_physical_ids():
    chips = parse_info(table("910_93"))
    assert [(c.npu_id, c.chip_id, c.physical_id) for c in chips] == [
        (6, 0, 12),
        (6, 1, 13),
        (7, 0, 14),
        (7, 1, 15),
    ]
    assert {c.name for c in chips} == {"Ascend910"}
    assert [c.processes for c in chips] == [0, 0, 1, 1]
    assert chips[3].memory_used_bytes == 15242 * MIB  # "15242/ 65536", without the blank


def test_310p_has_ddr_and_device_numbers():
    chips = parse_info(table("310p3"))
    assert [(c.npu_id, c.chip_id, c.physical_id) for c in chips] == [(1, 0, 0), (1, 1, 1), (32768, 0, 2)]
    assert [c.memory_total_bytes // MIB for c in chips] == [44278, 43693, 21527]
    assert [c.processes for c in chips] == [0, 0, 1]


def test_an_unwell_chip_is_asked_for_its_fault():
    sound, unwell = npu_smi(recorded_host("busy_and_alarm")).chips
    assert (sound.health, sound.fault, sound.processes) == ("OK", "", 1)
    assert (unwell.health, unwell.fault) == ("Alarm", "80E01801: node type=SOC, sensor type=Temperature")


def test_cards_alone_need_one_question():
    assert [card.name for card in npu_cards(recorded_host("pod_910b"))] == ["Ascend910B3", "Ascend910B3"]
    assert npu_cards(recorded_host("laptop")) == ()


def test_fields_without_a_value_are_left_out():
    fields = parse_fields(table("board"))
    assert fields["firmware version"] == "7.8.0.7.220"
    assert fields["pcie bus info"] == "0000:C1:00.0"
    assert "model" not in fields


@given(st.text(alphabet=st.sampled_from("|+-= \n0123456789/NPUChipOKAlarm.:")))
def test_any_text_gives_chips_or_none(text):
    for chip in parse_info(text):
        assert chip.memory_used_bytes >= 0 and chip.name.startswith("Ascend")


@given(st.data())
def test_a_table_cut_short_gives_a_beginning_of_its_chips(data):
    whole = table("910_93").split("| NPU     Chip")[0]
    cut = data.draw(st.integers(0, len(whole)))
    names = [(c.npu_id, c.chip_id) for c in parse_info(whole)]
    found = [(c.npu_id, c.chip_id) for c in parse_info(whole[:cut])]
    assert found == names[: len(found)]
