"""The supervised lessons before the training with rewards: the form of a response and some of its content."""

import random
from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset, Features, Image, List, Value
from transformers import AutoProcessor, Qwen2_5_VLForConditionalGeneration
from trl import SFTConfig, SFTTrainer

from ...crystal_task.prompt import PROMPT_FILE, Prompt, messages
from ...model_adapters.conversation import ChatFormat
from .pictures import paint
from .questions import Habits, Question, taught_response

BATCH, BETA2 = 32, 0.95
#: Shares of the steps over which the learning rate rises, and falls at the end. In between it is constant: a model
#: finds what a question asks for all at once, and at a high rate.
WARM_UP, DECAY = 0.05, 0.4


def teach(
    folder: str | Path, questions: Sequence[Question], habits: Habits, steps: int, rate: float, seed: int
) -> Path:
    """Trains the checkpoint in ``folder`` on responses of a teacher with these habits, and writes it back there.

    ``steps`` optimiser steps of 32 responses, at a learning rate of ``rate`` that falls to 0 at the end. Returns the
    folder.
    """
    processor = AutoProcessor.from_pretrained(folder)
    trainer = SFTTrainer(
        model=Qwen2_5_VLForConditionalGeneration.from_pretrained(folder),
        processing_class=processor,
        train_dataset=_examples(questions, habits, ChatFormat(processor), random.Random(seed)),
        args=SFTConfig(
            output_dir=str(Path(folder) / "taught"),
            max_steps=steps,
            per_device_train_batch_size=BATCH,
            learning_rate=rate,
            lr_scheduler_type="warmup_stable_decay",
            lr_scheduler_kwargs={"num_decay_steps": round(DECAY * steps)},
            warmup_steps=WARM_UP,
            adam_beta2=BETA2,
            completion_only_loss=True,
            max_length=None,
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            save_strategy="no",
            logging_steps=25,
            report_to="none",
            seed=seed,
        ),
    )
    trainer.train()
    trainer.save_model(str(folder))
    return Path(folder)


def _examples(questions: Sequence[Question], habits: Habits, chat: ChatFormat, chance: random.Random) -> Dataset:
    prompt = Prompt.from_file(PROMPT_FILE)
    rows = []
    for index, question in enumerate(questions):
        asked = chat.conversation(
            messages(prompt.fill(question.item(index)), paint(question.scene)), lambda image: image
        )
        told = taught_response(question, habits, chance) + "<|im_end|>"
        rows.append({"prompt": asked.text, "completion": told, "images": list(asked.images)})
    features = Features(prompt=Value("string"), completion=Value("string"), images=List(Image()))
    return Dataset.from_list(rows, features=features)
