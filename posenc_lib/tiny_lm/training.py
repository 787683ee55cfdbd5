"""How the small models are trained: AdamW on random windows, the same for every encoding."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from posenc_lib.base import check_integer, check_number
from posenc_lib.tiny_lm.corpus import check_tokens
from posenc_lib.tiny_lm.model import TinyTransformer, check_model
from posenc_lib.tiny_lm.windows import KEY_LENGTH, windows_for

__all__ = ["train"]


def train(
    model: TinyTransformer,
    text: Tensor,
    *,
    task: str = "text",
    steps: int,
    seed: int,
    length: int | None = None,
    batch_size: int = 16,
    learning_rate: float = 3e-3,
    label: str | None = "training",
) -> Tensor:
    """Train in place on random windows of a text, with a progress bar.

    The rate rises over the first twentieth of the steps and falls along half a cosine to a tenth; gradients are
    clipped to norm 1.

    Args:
        model: trained where it is; its weights change.
        text: tokens, (T,).
        task: "text" for windows as they are, "recall" for windows with a key in them (see `windows`).
        steps: of AdamW.
        seed: of the choice of windows.
        length: of a window, the model's trained_len if None.
        batch_size: windows a step.
        learning_rate: the highest.
        label: of the progress bar; no bar if None.

    Returns:
        The loss of each step in nats, (steps,).

    Raises:
        TypeError: model is no TinyTransformer, or text no int64 tensor.
        ValueError: an unknown task, a text too short for one window and its targets, or a number below its least.
        RuntimeError: the loss or a weight is no longer finite.
    """
    check_model(model)
    draw = windows_for(task)
    steps, batch_size = check_integer("steps", steps), check_integer("batch_size", batch_size)
    learning_rate = check_number("learning_rate", learning_rate, above=0)
    shortest = 2 * KEY_LENGTH - 1 if task == "recall" else 2  # a target more is drawn
    length = check_integer("length", model.trained_len if length is None else length, minimum=shortest)
    seed = check_integer("seed", seed, minimum=0)
    check_tokens("text", text, ndim=1, shape="(T,)")
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    warm_up = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warm_up, 0.55 + 0.45 * math.cos(math.pi * step / steps)),
    )
    device = model.embed.weight.device
    losses = torch.empty(steps, dtype=torch.float32, device="cpu")
    for step in tqdm(range(steps), desc=label, unit="step", leave=False, disable=label is None):
        windows = draw(text, batch_size, length + 1, generator).to(device)  # the last token is only a target
        loss = F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses[step] = loss.detach()
    if not losses.isfinite().all() or not all(parameter.isfinite().all() for parameter in model.parameters()):
        raise RuntimeError(
            f"training diverged at learning_rate {learning_rate:g} in {model.embed.weight.dtype}: "
            "lower the rate, or train in float32"
        )
    return losses
