"""The nightly run: jobs are in one shard each, failures are told, switches are documented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import nightly
from resources import REPOSITORY


@pytest.mark.parametrize("shards", [1, 2, 3, 5])
def test_each_job_is_in_one_shard(shards: int) -> None:
    all_jobs = nightly.jobs(7)
    parts = [nightly.sharded(all_jobs, shard, shards) for shard in range(1, shards + 1)]
    assert sorted(job.name for part in parts for job in part) == sorted(j.name for j in all_jobs)
    lengths = [sum(job.minutes for job in part) for part in parts]
    assert max(lengths) - min(lengths) <= max(job.minutes for job in all_jobs)


def test_samples_change_from_day_to_day() -> None:
    assert nightly.jobs(7) == nightly.jobs(7) != nightly.jobs(8)


def test_the_files_of_jobs_are_there() -> None:
    for job in nightly.jobs(7):
        for word in job.arguments:
            if word.startswith("tests/"):
                assert (REPOSITORY / word).exists(), word


def test_outcomes_are_told_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    works = nightly.Job("works", ("-c", "import os; print(os.environ['LINALG_EXT_THOROUGH'])"), 1)
    fails = nightly.Job("fails", ("-c", "print('first'); raise SystemExit(3)"), 1)
    monkeypatch.setattr(nightly, "jobs", lambda day: [works, fails])
    account = tmp_path / "account.json"
    assert nightly.main(["--account", str(account), "works"]) == 0
    assert nightly.main(["--account", str(account)]) == 1
    assert nightly.main(["--account", str(account), "fails"]) == 1  # the other outcome stays
    kept = json.loads(account.read_text())
    assert all(re.fullmatch(r"[0-9a-f]{40}", job["commit"]) for job in kept.values())
    statuses = {name: (job["status"], job["last_lines"]) for name, job in kept.items()}
    assert statuses == {"works": (0, ["1"]), "fails": (3, ["first"])}
    assert "fails                    failed (3)" in capfd.readouterr().out


@pytest.mark.parametrize("words", [["none-such"], ["--shard", "3/2"], ["--shard", "x"]])
def test_mistakes_are_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        nightly.main(words)
    assert words[-1] in capsys.readouterr().err


def test_the_switches_of_tests_are_documented() -> None:
    files = [path for path in (REPOSITORY / "tests").rglob("*.py") if path != Path(__file__)]
    named = {
        name
        for path in files
        for name in re.findall(r'environ(?:\.get\(|\[)"(LINALG_EXT_\w+)"', path.read_text())
    }
    assert "LINALG_EXT_THOROUGH" in named
    pages = (REPOSITORY / "CONTRIBUTING.md").read_text()
    pages += (REPOSITORY / "docs/how_to/follow_what_happens.md").read_text()
    assert not {name for name in named if name not in pages}
