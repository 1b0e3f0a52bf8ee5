from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npukit.conversation import Conversation
from npukit.errors import NpukitError

CAT = {"type": "image", "path": "/cat.png"}


def talked() -> Conversation:
    talk = Conversation("be brief")
    talk.attach([CAT])
    talk.answered("what is it?", "a cat")
    return talk


def test_pictures_go_with_the_next_question_alone() -> None:
    talk = talked()
    asking = talk.asking("and now?")
    assert [message["role"] for message in asking] == ["system", "user", "assistant", "user"]
    assert asking[1]["content"] == [CAT, {"type": "text", "text": "what is it?"}]
    assert asking[3]["content"] == [{"type": "text", "text": "and now?"}]
    assert talk.turns == 1  # asking changes nothing


def test_a_turn_is_taken_back_with_its_pictures() -> None:
    talk = talked()
    talk.attach([{"type": "video", "path": "/new.mp4"}])
    assert talk.take_back() == "what is it?"
    assert (talk.turns, [part["path"] for part in talk.waiting]) == (0, ["/cat.png", "/new.mp4"])
    assert talk.take_back() == ""


def test_clearing_keeps_what_the_model_is_told_first() -> None:
    talk = talked()
    talk.clear()
    assert (talk.system, talk.turns, talk.waiting) == ("be brief", 0, [])


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    talk = talked()
    talk.attach([CAT])
    talk.save(tmp_path / "talk.json", "model")
    assert Conversation.load(tmp_path / "talk.json") == talk


WHOLE = {"format": "npukit conversation 1", "system": "", "messages": [], "waiting": []}
USER = {"role": "user", "content": [{"type": "text", "text": "x"}]}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {**WHOLE, "format": "other"},
        {**WHOLE, "system": None},
        {**WHOLE, "messages": "x"},
        {**WHOLE, "messages": [USER]},
        {**WHOLE, "messages": [USER, USER]},
        {**WHOLE, "messages": [{**USER, "content": "x"}, {**USER, "role": "assistant"}]},
        {**WHOLE, "messages": [{**USER, "content": [{"type": "image"}]}, {**USER, "role": "assistant"}]},
        {**WHOLE, "waiting": [{"type": "text", "text": "x"}]},
        {**WHOLE, "waiting": [3]},
    ],
)
def test_what_is_no_conversation_says_why(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    with pytest.raises(NpukitError) as caught:
        Conversation.load(path)
    assert caught.value.code == "chat.not-a-conversation"
    assert caught.value.fields["reason"]


def test_files_that_are_not_there_or_torn(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"format": "npukit')
    for name, code in (("absent.json", "chat.no-file"), ("torn.json", "chat.not-a-conversation")):
        with pytest.raises(NpukitError) as caught:
            Conversation.load(tmp_path / name)
        assert caught.value.code == code
