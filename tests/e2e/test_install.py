"""A wheel of the tree, in an environment of its own, from another folder."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from harness import TIMEOUT, environment, metrics

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_runs_crystal_mini_from_another_folder(tmp_path):
    # The dependencies are those of this environment, lent by a .pth file: they take minutes to install.
    source = tmp_path / "source"
    call("git", "clone", "--quiet", ROOT, source, cwd=tmp_path)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, source, cwd=tmp_path)
    call(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    [wheel] = tmp_path.glob("*.whl")
    call(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=tmp_path)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = call(python, "-c", "import lmms_eval_crystal; print(lmms_eval_crystal.__file__)", cwd=elsewhere)
    assert Path(where.strip()).is_relative_to(site)
    arguments = ["--tasks", "crystal_mini", "--model", "crystal_scripted", "--model_args", "persona=oracle"]
    call(python, "-m", "lmms_eval", *arguments, "--limit", "2", "--output_path", "out", cwd=elsewhere)
    assert metrics(elsewhere)["match_f1"] == 1
    call(tmp_path / "venv" / "bin" / "crystal-eval", "table", "out", cwd=elsewhere)
