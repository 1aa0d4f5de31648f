"""What ``crystal-eval check`` looks at, and what one check finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..arguments import split_arguments
from ..crystal_task import source
from ..crystal_task.plugin import BENCHMARK, PAPER
from ..crystal_task.settings import Settings
from ..errors import first_line
from ..model_adapters.commands import BACKENDS, Command, Wishes, build_command
from ..model_adapters.hardware import Gpu
from ..model_adapters.local_files import Weights, local_folder, weights_in
from ..model_adapters.targets import Target

State = Literal["OK", "WARN", "FAIL"]
#: Seconds until a hub or the provider of an API counts as silent.
PING_TIMEOUT_S = 15
#: The tasks that read the dataset of the hub.
FROM_THE_HUB = (BENCHMARK, PAPER)


@dataclass(frozen=True)
class Check:
    """What one check found, and where it did not pass, what to do."""

    name: str
    state: State
    message: str


@dataclass(frozen=True)
class Subject:
    """What is checked: the model, the wishes for its run, the GPUs, and whether big downloads are fine."""

    target: Target
    wishes: Wishes
    gpus: Sequence[Gpu]
    full: bool

    @property
    def tasks(self) -> list[str]:
        return self.wishes.tasks.split(",")

    @property
    def command(self) -> Command:
        return build_command(self.target, self.wishes, self.gpus)

    @property
    def is_api(self) -> bool:
        return self.command.adapter == BACKENDS["api"]

    @property
    def revision(self) -> str | None:
        """The revision that the run would load: the user's, else the preset's."""
        preset = self.target.preset
        asked = split_arguments(self.wishes.model_args, "--model-args").get("revision")
        return asked or (preset.revision if preset else None)

    @property
    def folder(self) -> Path | None:
        """Where the checkpoint lies on this machine, whole or in part."""
        return local_folder(self.target.model, self.revision)

    @property
    def weights(self) -> Weights:
        folder = self.folder
        return weights_in(folder) if folder else Weights(())

    @property
    def data_is_near(self) -> bool:
        """Whether no task of CRYSTAL has to fetch the dataset first."""
        if not any(task in FROM_THE_HUB for task in self.tasks):
            return True
        settings = Settings.from_environment()
        return offline() or source.locate(settings.dataset, settings.revision).is_local


def offline() -> bool:
    """Whether the hub must not be asked."""
    from huggingface_hub.constants import is_offline_mode

    return bool(is_offline_mode())


def hub_revision(repository: str, revision: str | None, kind: str) -> tuple[str, str]:
    """The commit that the hub has for a repository, and what is in the way of reading it."""
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        api.auth_check(repository, repo_type=kind)
        info: Any = api.repo_info(repository, revision=revision, repo_type=kind, timeout=PING_TIMEOUT_S)
    except Exception as error:  # the hub client and the net raise whatever they like
        return "", first_line(error, with_type=True)
    return str(info.sha)[:12], ""
