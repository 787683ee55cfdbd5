"""A small language model that takes any encoding, the text it reads, its trained weights and how it is measured."""

from posenc_lib.tiny_lm.checkpoints import load, stored_results
from posenc_lib.tiny_lm.corpus import load_corpus
from posenc_lib.tiny_lm.evaluation import loss_by_position, recall_by_distance
from posenc_lib.tiny_lm.model import TinyTransformer
from posenc_lib.tiny_lm.training import train

__all__ = [
    "TinyTransformer",
    "load",
    "load_corpus",
    "loss_by_position",
    "recall_by_distance",
    "stored_results",
    "train",
]
