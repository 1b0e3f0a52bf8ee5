"""What can be typed in a conversation beside questions. Pure."""

from __future__ import annotations

import difflib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from npukit.errors import NpukitError


@dataclass(frozen=True)
class Command:
    name: str
    argument: str = ""


@dataclass(frozen=True)
class Usage:
    """``needed`` when the command means nothing without its argument."""

    argument: str
    en: str
    zh: str
    needed: bool = False


USAGES = {
    "/image": Usage("PATH...", "show pictures with the next question", "随下一个问题发送图片", True),
    "/video": Usage("PATH", "show a video with the next question", "随下一个问题发送视频", True),
    "/system": Usage("TEXT", "what the model is told first; alone: nothing", "设定系统提示；留空则清除"),
    "/set": Usage("NAME VALUE", "change a setting; alone: show them all", "修改设置；单独输入则显示全部"),
    "/retry": Usage("", "ask the last question again", "重新提问上一个问题"),
    "/clear": Usage("", "forget the conversation", "清空对话"),
    "/save": Usage("[PATH]", "write the conversation to a file", "将对话保存到文件"),
    "/load": Usage("[PATH]", "go on with a saved one; alone: the last one", "载入对话；单独输入则载入上一次"),
    "/help": Usage("", "show this", "显示本帮助"),
    "/quit": Usage("", "leave, as Ctrl-D does", "退出，等同 Ctrl-D"),
}


def parse(line: str) -> Command | None:
    """The command that a line is, or None for a question: ``/usr/bin`` asks, ``/hlep`` is a mistake.

    Raises NpukitError ``chat.unknown-command``, ``chat.needs-argument``.
    """
    match = re.fullmatch(r"(/[a-z]+)(?:\s+(.*?))?\s*", line, re.DOTALL)
    if not match:
        return None
    name, argument = match[1], match[2] or ""
    if name == "/exit":
        name = "/quit"
    if name not in USAGES:
        nearest = difflib.get_close_matches(name, USAGES, 1, 0.0)[0]
        raise NpukitError("chat.unknown-command", name=name, nearest=nearest)
    usage = USAGES[name]
    if usage.needed and not argument:
        raise NpukitError("chat.needs-argument", name=name, usage=f"{name} {usage.argument}")
    return Command(name, argument)


def paths(argument: str) -> list[str]:
    """The paths in an argument: one that is there as it stands, blanks included, or several as a shell reads
    them."""
    if Path(argument).expanduser().exists():
        return [argument]
    try:
        return shlex.split(argument)
    except ValueError:  # an open quote, as in a name with an apostrophe
        return [argument]
