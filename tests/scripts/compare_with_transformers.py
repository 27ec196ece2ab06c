#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mini_llm beside an independent implementation: PyTorch and Hugging Face's transformers, which weft never needs.

    compare_with_transformers.py load OUT TEXT
        OUT is the --out of a finished run that was trained on the one file TEXT. Loads its weights with transformers,
        and compares the loss over the run's own validation windows with the last one in metrics.jsonl.

    compare_with_transformers.py make OUT TEXT NEW
        The other way round: random weights of OUT's model, saved by transformers in NEW, and their loss. Then
            mini_llm --data TEXT --preset ... --init NEW/model.safetensors --steps 0 --out RUN
            compare_with_transformers.py load RUN TEXT
        must agree, and name that loss.

Exit: 0 the losses agree to 1e-5, 1 they do not, 75 PyTorch or transformers is not there.
"""
import json
import sys
from pathlib import Path

try:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError as missing:
    print(f"not compared: {missing}; install PyTorch (CPU) and transformers")
    sys.exit(75)


def validation_windows(text, options):
    """Inputs and targets as examples/mini_llm/sampler.hpp cuts them: evenly spaced over the last tenth."""
    length, batches = options["seq"], options["eval-batches"]
    part = text[len(text) - len(text) // 10 :]
    windows = (len(part) - 1) // length
    if batches > 0:
        windows = min(windows, batches * options["batch"])
    starts = [0 if windows == 1 else index * (len(part) - 1 - length) // (windows - 1) for index in range(windows)]
    rows = torch.tensor([list(part[start : start + length + 1]) for start in starts])
    return rows[:, :-1], rows[:, 1:]


def loss_of(model, inputs, targets):
    """Mean of -log p over all targets, one window at a time, added in double."""
    model.eval()
    total = 0.0
    with torch.no_grad():
        for row, wanted in zip(inputs, targets):
            logits = model(input_ids=row[None]).logits[0]
            total += torch.nn.functional.cross_entropy(logits, wanted, reduction="sum").item()
    return total / targets.numel()


def load(out, text):
    options = json.loads((out / "config-run.json").read_text())["options"]
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    ours = [line["loss"] for line in lines if line["kind"] == "validation"][-1]
    model, found = AutoModelForCausalLM.from_pretrained(out, torch_dtype=torch.float32, output_loading_info=True)
    wrong = [name for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in found[kind]]
    wrong = [name for name in wrong if name != "lm_head.weight" or not model.config.tie_word_embeddings]
    if wrong:
        print(f"WRONG: tensors that do not fit: {wrong}")
        return 1
    theirs = loss_of(model, *validation_windows(text.read_bytes(), options))
    difference = abs(ours - theirs) / theirs
    right = difference <= 1e-5
    print(f"{'ok' if right else 'WRONG'}: {type(model).__name__}: mini_llm {ours:.9f}, transformers {theirs:.9f}, "
          f"relative difference {difference:.1e}")
    return 0 if right else 1


def make(out, text, new):
    options = json.loads((out / "config-run.json").read_text())["options"]
    torch.manual_seed(1)
    config = AutoConfig.from_pretrained(out)
    config.initializer_range = 0.1  # so that what the model says depends on every weight
    model = AutoModelForCausalLM.from_config(config).float()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms and biases, which would be all ones or zeros
            parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(new, safe_serialization=True)
    print(f"{type(model).__name__} in {new}: loss {loss_of(model, *validation_windows(text.read_bytes(), options)):.9f}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "load":
        sys.exit(load(Path(sys.argv[2]), Path(sys.argv[3])))
    if len(sys.argv) == 5 and sys.argv[1] == "make":
        sys.exit(make(*map(Path, sys.argv[2:])))
    sys.exit(__doc__)
