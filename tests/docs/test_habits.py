"""Each habit of the page works, or is refused with an error that names what serves."""

from __future__ import annotations

import re

import pytest

from docs.generator import habits
from linalg_ext.cli import main
from linalg_ext.errors import LinalgExtError
from linalg_ext.utils import other_libraries
from resources import skip_absent

PAGE = habits.page()
ALL = list(habits.habits(PAGE))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch_mlir's, of a type of PyTorch's
@pytest.mark.parametrize("habit", [each for each in ALL if each.example], ids=lambda h: h.title)
def test_a_habit_ends_as_the_page_says(habit: habits.Habit) -> None:
    try:
        error = habits.run(PAGE, habit)
    except ModuleNotFoundError as missing:
        skip_absent(f"the package {missing.name}")
    if habit.works:
        assert error is None
    elif isinstance(error, LinalgExtError):
        assert error.hint
    else:
        assert isinstance(error, AttributeError)
        assert "; here: " in str(error)


def test_there_are_forty_habits() -> None:
    assert len(ALL) >= 40
    assert len({habit.title for habit in ALL}) == len(ALL)


def test_the_message_of_a_command_is_the_one_on_the_page(capfd: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"^\$ linalg-ext (.*)\n(.*)$", PAGE, re.MULTILINE)
    assert shown
    for command, message in shown:
        assert main(command.split()) != 0
        assert message in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize("option", other_libraries.MLIR_OPT)
def test_an_option_of_mlir_opt_that_is_absent_has_an_answer(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["opt", f"--{option}"]) == 2
    assert other_libraries.MLIR_OPT[option].split()[0] in capfd.readouterr().err


def test_messages_stand_below_refusals_alone() -> None:
    built = habits.with_messages(PAGE)
    refused = [each for each in ALL if not each.works and each.example]
    said = len(re.findall(r"^```text\n|^\(The error is shown", built, re.MULTILINE))
    assert said == len(refused) + PAGE.count("```text\n")
    with pytest.raises(ValueError, match="begins with Perhaps"):
        list(habits.habits("### A habit\n\nPerhaps.\n"))
