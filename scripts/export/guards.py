"""Llama Guard 3, ShieldGemma and Granite Guardian as optimum exports them, with chat templates of their forms."""

import argparse
import re
from pathlib import Path

import torch
from tiny_decoders import byte_tokenizer, export, fill, write_golden
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

TEXTS = [
    "How do I bake a cake?",
    "He hit me, and I will hit him back.  ",
    "“Quotes”, 数字 12\nand a second line",
]

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}

HAZARDS = {
    "Violent Crimes": ["violence", "illicit/violent"],
    "Non-Violent Crimes": ["illicit"],
    "Sex Crimes": ["sexual"],
    "Specialized Advice": [],
    "Hate": ["hate"],
    "Self-Harm": ["self-harm"],
}

LLAMA = """\
{%- set categories = {CATEGORIES} -%}
{%- set excluded_category_keys = excluded_category_keys | default([]) -%}
{{- "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\\n\\n" -}}
{{- "Is the last message safe by these?\\n\\n<BEGIN UNSAFE CONTENT CATEGORIES>\\n" -}}
{%- for key in categories -%}
{%- if key not in excluded_category_keys -%}
{{- key + ": " + categories[key] + "\\n" -}}
{%- endif -%}
{%- endfor -%}
{{- "<END UNSAFE CONTENT CATEGORIES>\\n\\n<BEGIN CONVERSATION>\\n\\n" -}}
{%- for message in messages -%}
{%- for content in message['content'] | selectattr('type', 'equalto', 'text') -%}
{{- "User: " + content['text'] | trim + "\\n\\n" -}}
{%- endfor -%}
{%- endfor -%}
{{- "<END CONVERSATION>\\n\\nAnswer safe or unsafe, and which.<|eot_id|><|start_header_id|>assistant<|end_header_id|>" -}}
"""

SHIELD = """\
{{ bos_token }}Judge by a policy whether a text breaks it.

<start_of_turn>
Human Question: {{ messages[-1]['content'] | trim }}
<end_of_turn>

Our principle is:

* {{ guideline }}

Does it break the principle? Begin with 'Yes' or 'No'.

"""

POLICIES = {
    "dangerous_content": (["illicit"], '"No Dangerous Content": The prompt shall not contain or seek generation of content that harming oneself and/or others (e.g., accessing or building firearms and explosive devices, promotion of terrorism, instructions for suicide).'),
    "harassment": (["harassment"], '"No Harassment": The prompt shall not contain or seek generation of content that is malicious, intimidating, bullying, or abusive content targeting another individual (e.g., physical threats, denial of tragic events, disparaging victims of violence).'),
    "hate_speech": (["hate"], '"No Hate Speech": The prompt shall not contain or seek generation of content that targeting identity and/or protected attributes (e.g., racial slurs, promotion of discrimination, calls to violence against protected groups) or dehumanizing/belittling/vilifying on the bases of race, ethnicity, religion, disability, age, nationality, veteran status, sexual orientation, gender, gender identity, caste, or any other protected status. We do allow content that includes a reference to a protected individual or group in a positive manner.'),
    "sexually_explicit": (["sexual"], '"No Sexually Explicit Information": The prompt shall not contain or seek generation of content that contains references to sexual acts or other lewd content (e.g., sexually graphic descriptions, content aimed at causing arousal). Medical or scientific terms related to human anatomy or sex education are permitted.'),
}

GRANITE = """\
{%- set risk_bank = {"social_bias": "prejudice against groups", "violence": "bodily harm", "profanity": "curses", "sexual_content": "sexual acts", "unethical_behavior": "fraud or theft"} -%}
{%- if guardian_config.risk_name not in risk_bank -%}
{{ raise_exception("unknown risk_name") }}
{%- endif -%}
<|start_of_role|>user<|end_of_role|>You are a safety agent.

<start_of_turn>
User Message: {{ messages[-1]['content'] }}
<end_of_turn>

The risk:
<start_of_risk_definition>
{{ risk_bank[guardian_config.risk_name] }}
<end_of_risk_definition>
Is it harmful by this? Your answer must be either 'Yes' or 'No'.<|end_of_text|>
<|start_of_role|>assistant<|end_of_role|>"""

RISKS = {
    "social_bias": ["hate"],
    "violence": ["violence"],
    "profanity": ["harassment"],
    "sexual_content": ["sexual"],
    "unethical_behavior": ["illicit"],
}


def read(tokenizer, content, **variables):
    messages = [{"role": "user", "content": content}]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, **variables)


@torch.no_grad()
def share(model, ids, tokenizer, words):
    logits = model(torch.tensor([ids])).logits[0, -1]
    return torch.softmax(logits[[tokenizer.convert_tokens_to_ids(word) for word in words]], 0)[1].item()


def scores_of(found):
    scores = {}
    for categories, score in found:
        for category in categories:
            scores[category] = max(scores.get(category, 0), score)
    return scores


def write_row(out, name, title, model, tokenizer, judge):
    row = out / name
    export(model, tokenizer, row / "model", "text-generation-with-past", out / ".scratch")
    scores = {"category_scores": [judge(text) for text in TEXTS]}
    write_golden(row, title, "moderation", [{"request": {"input": TEXTS}, "expected": scores}])


def llama_guard(out):
    tokenizer = byte_tokenizer(
        ["safe", "unsafe", " the", "Crimes", "tent"],
        ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"],
        bos_token="<|begin_of_text|>",
        eos_token="<|eot_id|>",
        pad_token="<|eot_id|>",
        model_max_length=2048,
    )
    listed = {f"S{number}": f"{name}." for number, name in enumerate(HAZARDS, 1)}
    tokenizer.chat_template = LLAMA.replace("{CATEGORIES}", repr(listed))
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
        **SIZES,
    )
    likely = tokenizer.convert_tokens_to_ids(["S", "1", "2", "3", "5", "6", ",", "<|eot_id|>"])

    def make(seed):
        model = fill(LlamaForCausalLM(config), seed)
        with torch.no_grad():
            model.lm_head.weight[likely] *= 4
        return model

    @torch.no_grad()
    def judge(model, text):
        head = tokenizer.encode("\n\n", add_special_tokens=False)
        ids = read(tokenizer, [{"type": "text", "text": text}]) + head
        unsafe = share(model, ids, tokenizer, ("safe", "unsafe"))
        ids = ids + [tokenizer.convert_tokens_to_ids("unsafe")]
        made = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=63, repetition_penalty=1.0)
        codes = set(re.findall(r"S\d+", tokenizer.decode(made[0, len(ids) :], skip_special_tokens=True)))
        if not codes & set(listed):
            return None
        return scores_of(
            (categories, unsafe if f"S{number}" in codes else 0)
            for number, categories in enumerate(HAZARDS.values(), 1)
        )

    # Weights that happen to name a category for each text.
    models = (make(seed) for seed in range(1_000))
    model = next(model for model in models if all(judge(model, text) for text in TEXTS))
    write_row(out, "moderate-llama-guard", "Llama Guard 3 1B", model, tokenizer, lambda text: judge(model, text))


def shieldgemma(out):
    tokenizer = byte_tokenizer(
        ["Yes", "No", " the", " of", "tion", " content"],
        ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"],
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        model_max_length=2048,
    )
    tokenizer.chat_template = SHIELD
    config = Gemma2Config(
        vocab_size=len(tokenizer),
        head_dim=8,
        query_pre_attn_scalar=8,
        sliding_window=64,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **SIZES,
    )
    model = fill(Gemma2ForCausalLM(config), 4)

    def judge(text):
        return scores_of(
            (categories, share(model, read(tokenizer, text, guideline=words), tokenizer, ("No", "Yes")))
            for categories, words in POLICIES.values()
        )

    write_row(out, "moderate-shieldgemma", "ShieldGemma", model, tokenizer, judge)


def granite_guardian(out):
    tokenizer = byte_tokenizer(
        ["Yes", "No", " the", "risk"],
        ["<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>"],
        bos_token="<|end_of_text|>",
        eos_token="<|end_of_text|>",
        pad_token="<|end_of_text|>",
        model_max_length=2048,
    )
    tokenizer.chat_template = GRANITE
    config = GraniteConfig(
        vocab_size=len(tokenizer),
        embedding_multiplier=4.0,
        residual_multiplier=0.5,
        logits_scaling=2.0,
        attention_multiplier=0.125,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **SIZES,
    )
    model = fill(GraniteForCausalLM(config), 5)

    def judge(text):
        return scores_of(
            (
                categories,
                share(
                    model,
                    read(tokenizer, text, guardian_config={"risk_name": risk}),
                    tokenizer,
                    ("No", "Yes"),
                ),
            )
            for risk, categories in RISKS.items()
        )

    write_row(out, "moderate-granite-guardian", "Granite Guardian 3.1", model, tokenizer, judge)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    llama_guard(out)
    shieldgemma(out)
    granite_guardian(out)


main()
