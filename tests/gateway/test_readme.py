"""The operator's page says what the program does."""

import re
from pathlib import Path
from typing import Any

import pytest

from gateway import cli
from gateway.cli import load_all
from gateway.settings import config

PAGE = (Path(config.__file__).parents[1] / "README.md").read_text("utf-8")


def commands() -> dict[str, list[str]]:
    """Return every command, and of a group those in it."""
    top: Any = load_all()
    return {name: list(getattr(one, "commands", ())) for name, one in top.commands.items()}


def test_every_table_of_the_deployment_file_is_on_the_page() -> None:
    """The sample explains each key; the page says where to look. It holds no second copy."""
    assert [name for name in config.Deployment.model_fields if f"`[{name}]`" not in PAGE] == []
    assert "heatveil config --sample > gateway.toml" in PAGE
    assert "gather_s = " not in PAGE


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_is_on_the_page(name: str) -> None:
    """What is not there is not found."""
    assert re.search(rf"heatveil {name}\b|[`,] ?`?{name}`", PAGE)
    for inner in commands()[name]:
        assert re.search(rf"`(heatveil {name} )?{inner}`|heatveil {name} {inner}\b", PAGE), inner


def test_every_command_on_the_page_is_one() -> None:
    """An old name on the page is the first thing that an operator types."""
    known = commands()
    for line in re.findall(r"(?:^|`)heatveil ((?:--log \w+ )?[a-z][^`\n]*)", PAGE, re.M):
        words = re.sub(r"^--log \w+ ", "", line).split()
        assert words[0] in known, line
        if known[words[0]] and len(words) > 1 and re.fullmatch("[a-z]+", words[1]):
            assert words[1] in known[words[0]], line


@pytest.mark.long
def test_every_flag_on_the_page_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the command that it stands beside."""
    known = commands()
    for line in re.findall(r"(?:^|`)heatveil ([a-z][^`\n#]*)", PAGE, re.M):
        words = line.split()
        path = words[:2] if known.get(words[0]) and len(words) > 1 else words[:1]
        flags = [word.strip("[],") for word in words if word.strip("[").startswith("--")]
        if not flags:
            continue
        with pytest.raises(SystemExit):
            cli.main([*path, "--help"])
        told = capsys.readouterr().out
        assert [flag for flag in flags if flag not in told] == [], line


@pytest.mark.parametrize(
    "words",
    [
        "heatveil calibrate --mechanism disk",
        "heatveil play disk",
        "heatveil fleet --config gateway.toml --points",
        "heatveil reproduce",
        "`[disk]`",
    ],
)
def test_people_are_on_the_page_from_the_first_question_to_the_map(words: str) -> None:
    """Whoever has no thermometers reads this page too."""
    assert words in PAGE


def test_links_within_the_page_lead_to_a_heading() -> None:
    """A table of contents that jumps nowhere is worse than none."""
    headings = {
        re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-")
        for one in re.findall(r"^#+ (.*)$", PAGE, re.M)
    }

    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings


def test_files_that_the_page_names_are_there() -> None:
    """Units, dashboards and compositions are found where it says."""
    root = Path(config.__file__).parents[2]
    for name in re.findall(r"gateway/deploy/[\w.@-]+\w", PAGE):
        assert (root / name).exists(), name
