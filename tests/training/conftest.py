"""A folder that passes for a checkpoint and has no weights, and configurations around it."""

import dataclasses
from pathlib import Path

import pytest
import synthetic
from lmms_eval_crystal.training.config import DataConfig, TrainConfig
from tiny_run import build_without_weights


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    return build_without_weights(tmp_path / "model")


@pytest.fixture
def benchmark(tmp_path, monkeypatch) -> Path:
    """A stand-in for the benchmark, as CRYSTAL_DATASET names a copy; its questions are not those of training items."""
    file = tmp_path / "benchmark.parquet"
    synthetic.dataset(3, question=["Which way?", "How far?", "How long?"]).to_parquet(file)
    monkeypatch.setenv("CRYSTAL_DATASET", str(file))
    return file


@pytest.fixture
def items_file(tmp_path) -> Path:
    file = tmp_path / "items.parquet"
    synthetic.dataset(40).to_parquet(file)
    return file


@pytest.fixture
def config(tmp_path, checkpoint, benchmark, items_file) -> TrainConfig:
    """A configuration that nothing is wrong with, apart from its model."""
    both = (TrainConfig().phases[0],) * 2
    return TrainConfig(
        model=str(checkpoint),
        output=str(tmp_path / "out"),
        data=DataConfig(path=str(items_file)),
        encoder="minilm",
        phases=both,
    )


def with_data(config: TrainConfig, **changes) -> TrainConfig:
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **changes))
