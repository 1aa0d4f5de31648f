"""From messages to prompts: markers in a question are words, and no system prompt is added to the template's own."""

import pytest
from lmms_eval_crystal.crystal_task.observe import describe_model
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics.signature import short_hash
from lmms_eval_crystal.model_adapters.conversation import ChatFormat, model_inputs
from lmms_eval_crystal.model_adapters.tiny import FAMILIES
from transformers import AutoProcessor

from .hf_cases import altered, checkpoint, load, photo

# How the template of Qwen2.5-VL begins a conversation that has no system turn.
DEFAULT_SYSTEM = (
    "{%- if messages[0].role != 'system' -%}{{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' -}}"
    "{%- endif -%}"
)


def ask(text: str) -> list[dict]:
    return [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image", "url": photo(60, 60)}]}]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_marker_in_a_question_is_taken_for_one(family: str) -> None:
    processor = AutoProcessor.from_pretrained(checkpoint(family))
    chat = ChatFormat(processor)
    specials = [str(token) for token in processor.tokenizer.added_tokens_decoder.values() if token.special]
    assert specials
    tokens = processor.tokenizer(chat.plain(" ".join(specials)), add_special_tokens=False)["input_ids"]
    assert not {token for token in tokens if processor.tokenizer.decode([token]) in specials}
    conversation = chat.conversation(ask(f"What do {' '.join(specials)} and <image> mean?"), lambda image: image)
    assert len(conversation.images) == 1
    assert model_inputs(processor, [conversation])["input_ids"].shape[0] == 1


def test_a_question_without_markers_is_not_touched() -> None:
    chat = ChatFormat(AutoProcessor.from_pretrained(checkpoint("qwen2_5_vl")))
    text = "Is a < b and [b] > c in <image>, {x} or <b>bold</b>?\n"
    assert chat.plain(text) == text
    assert chat.plain("<|im_end|>") == "< |im_end|>"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_template_without_a_system_prompt_gets_none(family: str) -> None:
    assert ChatFormat(AutoProcessor.from_pretrained(checkpoint(family))).system_prompt is None


def test_the_signature_names_the_system_prompt_that_a_template_brings(tmp_path) -> None:
    folder = altered("qwen2_5_vl", tmp_path, "config.json")
    template = folder / "chat_template.jinja"
    template.write_text(DEFAULT_SYSTEM + template.read_text("utf-8"), "utf-8")
    model = load(folder)
    assert model.system_prompt == "You are a helpful assistant."
    described = describe_model(model)
    assert described.system == short_hash("You are a helpful assistant.")
    assert (described.dtype, described.pixels, described.adapter) == ("float32", "3136-1003520", "CrystalHF/chat")


def test_a_template_for_a_single_turn_shows_its_words_too() -> None:
    processor = AutoProcessor.from_pretrained(checkpoint("llava_next"))
    processor.chat_template = (
        "{%- if messages|length > 1 -%}{{- raise_exception('one turn') -}}{%- endif -%}Be brief. USER: "
        "{%- for part in messages[0].content -%}{{- part.text if part.type == 'text' else '<image>' -}}{%- endfor -%}"
    )
    assert ChatFormat(processor).system_prompt == "Be brief. USER:"


def test_parts_keep_their_order_and_other_kinds_are_refused() -> None:
    chat = ChatFormat(AutoProcessor.from_pretrained(checkpoint("gemma3")))
    messages = [{"role": "system", "content": "Be brief."}, *ask("Why?")]
    text = chat.conversation(messages, lambda image: image).text
    assert text.index("Be brief.") < text.index("Why?") < text.index("<start_of_image>")
    with pytest.raises(CrystalError, match="a task gives it video"):
        chat.conversation([{"role": "user", "content": [{"type": "video", "url": "film.mp4"}]}], lambda image: image)
