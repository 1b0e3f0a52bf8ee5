"""Whatever a machine's files and tools say, env has an answer: it is most needed where things are broken."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from npukit.host.survey import judge, survey
from tests.fixtures.recorded_host import RecordedHost, load_record

HOSTS = {name: load_record(name) for name in ("pod_910b", "pod_910_93_shared", "busy_and_alarm")}
TEXTS = st.text(alphabet="0123456789.,:=[]|/-+ \nvVersion", max_size=60)
NAMES = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_HOME_PATH",
    "LD_LIBRARY_PATH",
    "HF_ENDPOINT",
    "PYTORCH_NPU_ALLOC_CONF",
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_garbled_files_tools_and_variables_are_judged(data):
    record = copy.deepcopy(HOSTS[data.draw(st.sampled_from(sorted(HOSTS)))])
    for path in data.draw(st.lists(st.sampled_from(sorted(record["files"])), max_size=3)):
        text = record["files"][path]
        at = data.draw(st.integers(0, len(text)))
        record["files"][path] = text[:at] + data.draw(TEXTS) + text[at:]
    for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=2)):
        record["environ"][name] = data.draw(TEXTS)
    for package in data.draw(st.lists(st.sampled_from(sorted(record["packages"])), max_size=2)):
        record["packages"][package] = data.draw(TEXTS)
    record["commands"]["npu-smi info"] = {"stdout": data.draw(TEXTS), "status": data.draw(st.integers(0, 2))}
    verdicts = judge(survey(RecordedHost(record)))
    assert {"system", "packages", "hubs"} <= {verdict.area for verdict in verdicts}
