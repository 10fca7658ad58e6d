"""The wheel and the sdist: what is in them, and that what they install works elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from resources import REPOSITORY, project_files

# One worker builds for all of these tests.
pytestmark = pytest.mark.xdist_group("distributions")

COMMANDS = ("--help", "demo")
"""What the installed command is run with, outside the checkout."""

LINKED = ("linalg_ext/transforms/__init__.py", "linalg_ext/opdsl_defs/__init__.py")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command outside the checkout's influence; its output, or an error that shows it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def build(checkout: Path, target: Path, *options: str) -> None:
    """Build into `target`, with the backend that is installed here: nothing is fetched."""
    command = (sys.executable, "-m", "build", "--no-isolation", *options)
    run(*command, "--outdir", target, checkout, cwd=checkout.parent)


def installed(environment: Path, *arguments: str | Path) -> None:
    """Install with the running pip into another environment, nothing fetched."""
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python")
    quietly = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index")
    run(*pip, "install", *quietly, *arguments, cwd=environment)


def new_environment(path: Path) -> Path:
    """A clean environment that borrows the dependencies of the running one, linalg_ext apart.

    A folder that a .pth file names goes on the path, but the .pth files in it are not read: an
    editable install of the checkout in the running environment is not visible.
    """
    run(sys.executable, "-m", "venv", "--without-pip", path, cwd=path.parent)
    (site,) = (path / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return path


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, so that a build leaves nothing in the real one, nor finds anything."""
    copy = tmp_path_factory.mktemp("build") / "checkout"
    for path in project_files():
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / path, target, follow_symlinks=False)
    return copy


@pytest.fixture(scope="module")
def distributions(checkout: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from the unpacked sdist."""
    target = checkout.parent / "dist"
    build(checkout, target)
    (sdist,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def environment(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the wheel installed."""
    path = new_environment(tmp_path_factory.mktemp("wheel") / "venv")
    installed(path, distributions[1])
    return path


def test_the_wheel_holds_the_package_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        files = {entry.filename for entry in wheel.infolist() if not entry.is_dir()}
        assert all(wheel.read(name) for name in LINKED)
    tops = {name.partition("/")[0] for name in files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"linalg_ext"}
    assert {"linalg_ext/py.typed", *LINKED} <= files
    assert {Path(name).name for name in files} >= {"LICENSE", "NOTICE", "LICENSE.KernelBench"}


def test_the_wheel_holds_every_file_of_the_library(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        files = set(wheel.namelist())
    folders = {"linalg_ext": "", "transforms": "linalg_ext/", "opdsl_defs": "linalg_ext/"}
    library = {
        folders[path.parts[0]] + path.as_posix()
        for path in project_files()
        if path.parts[0] in folders and not (REPOSITORY / path).is_symlink()
    }
    assert library - files == set()


def test_the_sdist_holds_real_files(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as sdist:
        members = {member.name.partition("/")[2]: member for member in sdist}
    assert all(members[name].isreg() and members[name].size for name in LINKED)
    assert [
        name for name, member in members.items() if not (member.isreg() or member.isdir())
    ] == []
    assert {"LICENSE", "README.md", "pyproject.toml"} <= members.keys()
    assert [name for name in members if name.startswith(("transforms", "opdsl_defs"))] == []


def test_the_wheel_made_without_an_sdist_is_the_same(
    checkout: Path, distributions: tuple[Path, Path]
) -> None:
    target = checkout.parent / "direct"
    build(checkout, target, "--wheel")
    with (
        zipfile.ZipFile(target / distributions[1].name) as direct,
        zipfile.ZipFile(distributions[1]) as through_sdist,
    ):
        assert sorted(direct.namelist()) == sorted(through_sdist.namelist())


def test_the_installed_wheel_is_what_runs(environment: Path) -> None:
    program = "import linalg_ext; print(linalg_ext.__file__, linalg_ext.transforms.__file__)"
    output = run(environment / "bin" / "python", "-c", program, cwd=environment.parent)
    assert all(Path(file).is_relative_to(environment) for file in output.split())
    assert len(output.split()) == 2


@pytest.mark.parametrize("argument", COMMANDS)
def test_the_command_runs_outside_the_checkout(environment: Path, argument: str) -> None:
    assert run(environment / "bin" / "linalg-ext", argument, cwd=environment.parent)


def test_nothing_called_transforms_is_importable(environment: Path) -> None:
    program = (
        "from importlib.util import find_spec as find\n"
        "print(find('transforms'), find('opdsl_defs'))"
    )
    output = run(environment / "bin" / "python", "-c", program, cwd=environment.parent)
    assert output.split() == ["None", "None"]


def test_an_editable_install_follows_the_links(checkout: Path, tmp_path: Path) -> None:
    path = new_environment(tmp_path / "venv")
    installed(path, "--no-build-isolation", "--editable", checkout)
    (checkout / "transforms" / "added_later.py").write_text("VALUE = 7\n")
    program = (
        "import linalg_ext.opdsl_defs, linalg_ext.transforms.added_later as added\n"
        "from importlib.util import find_spec\n"
        "print(added.__file__, added.VALUE, find_spec('transforms'))"
    )
    output = run(path / "bin" / "python", "-c", program, cwd=tmp_path)
    (checkout / "transforms" / "added_later.py").unlink()
    file, value, bare = output.split()
    assert Path(file).is_relative_to(checkout)
    assert (value, bare) == ("7", "None")


def test_the_canary_takes_the_newest_packages() -> None:
    """It neither touches `.venv` nor heeds the bounds, and allows no skip for want of a package."""
    shown = run("make", "-n", "canary", cwd=REPOSITORY).replace("\\\n", "")
    (upgraded,) = re.findall(r"\.canary/bin/python .*--upgrade\s+(.*)", shown)
    assert upgraded.split() == ["torch-mlir", "torch", "jax", "onnx"]
    assert "LINALG_EXT_REQUIRE_ALL=1 make VENV=.canary test" in shown
    assert ".canary/bin/python -m pytest" in shown
    assert " .venv" not in shown


def test_the_workflow_calls_targets_that_there_are() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text())
    targets = [
        row["target"] for row in workflow["jobs"]["nightly"]["strategy"]["matrix"]["include"]
    ]
    assert {target.split()[0] for target in targets} == {"canary", "lowest", "nightly"}
    for target in targets:
        run("make", "-n", *target.split(), cwd=REPOSITORY)
    shards = sorted(target for target in targets if target.startswith("nightly"))
    assert shards == [f"nightly SHARD={k}/{len(shards)}" for k in range(1, len(shards) + 1)]


def test_the_notice_names_every_sample() -> None:
    from linalg_ext.samples import NAMES

    notice = (REPOSITORY / "NOTICE").read_text(encoding="utf-8")
    assert all(f"samples/{name}.mlir" in notice for name in NAMES)


def test_the_notice_names_all_data_of_others() -> None:
    notice = (REPOSITORY / "NOTICE").read_text(encoding="utf-8")
    folders = {f"tests/data/{path.name}/" for path in (REPOSITORY / "tests/data").glob("*/")}
    assert folders == {"tests/data/modules/", "tests/data/documents/"}
    assert all(folder in notice for folder in folders)
    assert (REPOSITORY / "tests/data/modules/LICENSE.KernelBench").is_file()
    for path in (REPOSITORY / "tests/transforms/gml_st/filechecks").glob("*.mlir"):
        assert "Copyright The TensorFlow Authors" in path.read_text().splitlines()[0], path.name
