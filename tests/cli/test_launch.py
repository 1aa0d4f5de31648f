"""How a run is started and judged, with small programs in the place of the harness."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from lmms_eval_crystal.cli.launch import run_harness
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.commands import Command

TASK = "crystal_mini"
SECRET = "sk-0123456789"
WRITE = f"""
    import json, pathlib
    folder = pathlib.Path("out/model")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1_results.json").write_text(json.dumps({{"results": {{"{TASK}": {{}}}}}}))
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return tmp_path


def launch(*programs: str, **more: object) -> tuple[list[Path], str]:
    output = io.BytesIO()
    program = "\n".join(textwrap.dedent(part) for part in programs)
    command = Command("adapter", (sys.executable, "-c", program), **more.pop("command", {}))
    written = run_harness(command, Path("out"), [TASK], output, **more)
    return written, output.getvalue().decode()


def test_a_run_that_wrote_results_is_a_success():
    written, _ = launch(WRITE)
    assert written == [Path("out/model/1_results.json")]


def test_exit_code_0_without_results_is_a_failure():
    with pytest.raises(CrystalError, match=f"no results for {TASK} under out"):
        launch("print('Traceback')")


def test_results_of_an_earlier_run_are_not_this_ones():
    launch(WRITE)
    with pytest.raises(CrystalError, match="no results"):
        launch("pass")


def test_results_of_another_task_are_not_this_ones():
    with pytest.raises(CrystalError, match="no results"):
        launch(WRITE.replace(TASK, "mmmu_val"))


def test_another_exit_code_is_a_failure_even_with_results():
    with pytest.raises(CrystalError, match="exit code 3"):
        launch(WRITE, "raise SystemExit(3)")


def test_without_a_journal_nothing_is_said_to_be_kept():
    with pytest.raises(CrystalError, match=r"stands above\. Correct what it says, and start the command again\.$"):
        launch("raise SystemExit(3)", command={"variables": {"CRYSTAL_JOURNAL": "off"}})


def test_the_last_error_of_the_log_is_in_the_sentence_without_secrets():
    with pytest.raises(CrystalError) as caught:
        launch(
            f"""
    print("ValueError: the first", "at work", "\\x1b[31mopenai.AuthError: no {SECRET}\\x1b[0m", "bye", sep="\\n")
    """
        )
    assert "the last error was 'openai.AuthError: no ***', and more stands above" in str(caught.value)


def test_colours_go_to_terminals_only():
    loud = "print('\\x1b[32m2026 \\x1b[1mINFO\\x1b[0m started\\x1b[A', end='')"
    assert launch(WRITE, loud)[1] == "2026 INFO started"


def test_the_sentence_of_our_own_error_is_the_sentence_of_the_failure():
    with pytest.raises(CrystalError, match=r"^the encoder is missing; get one\.$"):
        launch("import sys; sys.exit('CRYSTAL: the encoder is missing; get one.')")


@pytest.mark.parametrize("cut", [0, 3])
def test_a_secret_is_masked_wherever_it_stands_and_however_it_comes(cut):
    _, printed = launch(
        f"""
        import os, sys, time
        text = "key " + os.environ["OPENAI_API_KEY"] + " in a bar\\r"
        for piece in (text[: 7 + {cut}], text[7 + {cut} :]):
            sys.stdout.write(piece)
            sys.stdout.flush()
            time.sleep(0.1)
        sys.stderr.write("key " + os.environ["OPENAI_API_KEY"])
        """,
        WRITE,
    )
    assert SECRET not in printed
    assert printed == "key *** in a bar\rkey ***"


def test_a_secret_that_a_server_put_into_a_response_does_not_stay_in_the_files():
    launch(
        WRITE,
        f"""
    (folder / "1_samples_{TASK}.jsonl").write_text(json.dumps({{"resp": "bad key {SECRET}"}}))
    """,
    )
    assert json.loads(Path(f"out/model/1_samples_{TASK}.jsonl").read_text()) == {"resp": "bad key ***"}


def test_the_hub_token_reaches_the_run_as_a_private_file_and_not_in_its_environment(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    _, printed = launch(
        WRITE,
        """
    import os, stat
    from huggingface_hub import get_token
    path = os.environ["HF_TOKEN_PATH"]
    print("HF_TOKEN" in os.environ, get_token() == "hf_" + "0123456789", oct(stat.S_IMODE(os.stat(path).st_mode)), path)
    """,
    )
    *facts, path = printed.split()
    assert facts == ["False", "True", "0o600"]
    assert not Path(path).exists()


def test_the_key_of_another_provider_never_stands_in_for_that_of_openai(monkeypatch):
    """Judges of the harness send that one to OpenAI."""
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-0123456789")
    monkeypatch.delenv("OPENAI_API_KEY")
    _, printed = launch(
        WRITE,
        "import os; print(os.environ.get('OPENAI_API_KEY'), os.environ['CRYSTAL_JOURNAL'])",
        command={"key_variable": "GEMINI_API_KEY", "variables": {"CRYSTAL_JOURNAL": "out/journal"}},
    )
    assert printed == "None out/journal\n"


def test_a_run_over_its_time_is_stopped():
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        launch("import time; time.sleep(60)", timeout=1.0)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_run_ends_with_the_command_that_started_it(number, here):
    """Else a second start would meet the first one's run."""
    program = """
        import sys
        from pathlib import Path
        from lmms_eval_crystal.cli.launch import run_harness
        from lmms_eval_crystal.model_adapters.commands import Command
        child = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        run_harness(Command("adapter", (sys.executable, "-c", child)), Path("out"), [])
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(number)
    parent.wait(20)
    parent.stdout.close()
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the run went on")


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
