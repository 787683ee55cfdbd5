"""A decoder-only Transformer that takes any PositionEncoding: about 110 000 parameters, trained in a minute.

Pre-norm blocks without biases, GELU, one encoding shared by all layers. All three sockets are called here, and nothing
else in the model knows which of them the encoding uses.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from posenc_lib import PositionEncoding, make_encoding
from posenc_lib.base import check_encoding, check_even, check_integer, check_positions_fit
from posenc_lib.tiny_lm.corpus import VOCABULARY, check_tokens

__all__ = ["TinyTransformer", "check_model"]


class Block(nn.Module):
    """Attention, then a two-layer MLP, each added to the stream x (B, T, D)."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attention_norm = nn.LayerNorm(dim, bias=False)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.project = nn.Linear(dim, dim, bias=False)
        self.mlp_norm = nn.LayerNorm(dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim, bias=False), nn.GELU(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: Tensor, positions: Tensor, encoding: PositionEncoding, bias: Tensor | None) -> Tensor:
        q, k, v = self.qkv(self.attention_norm(x)).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = encoding.rotate(q, k, positions, positions)  # (B, H, T, Dh)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)
        x = x + self.project(heads.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.mlp_norm(x))


class TinyTransformer(nn.Module):
    """Next-character model with the encoding of that name.

    Args:
        encoding_name: one of `posenc_lib.ENCODINGS`.
        dim: width D.
        num_layers: number of blocks.
        num_heads: H.
        trained_len: T_train, the window it is meant to be trained on, and the length of a learned table.

    Raises:
        ValueError: an unknown encoding; a dim that is odd or no multiple of num_heads; for RoPE a head of odd width.
    """

    def __init__(
        self, encoding_name: str, *, dim: int = 64, num_layers: int = 2, num_heads: int = 4, trained_len: int = 128
    ) -> None:
        super().__init__()
        num_layers, num_heads = check_integer("num_layers", num_layers), check_integer("num_heads", num_heads)
        dim = check_even("dim", dim)
        if dim % num_heads:
            raise ValueError(f"dim must be a multiple of num_heads {num_heads}, got {dim}")
        self.encoding_name = encoding_name
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.trained_len = check_integer("trained_len", trained_len)
        self.encoding = make_encoding(
            encoding_name, dim=dim, num_heads=num_heads, head_dim=self.head_dim, max_len=trained_len
        )
        self.embed = nn.Embedding(len(VOCABULARY), dim)
        nn.init.normal_(self.embed.weight, std=1 / math.sqrt(dim))
        self.blocks = nn.ModuleList(Block(dim, num_heads) for _ in range(num_layers))
        self.norm = nn.LayerNorm(dim, bias=False)
        self.head = nn.Linear(dim, len(VOCABULARY), bias=False)

    def forward(
        self, tokens: Tensor, *, positions: Tensor | None = None, encoding: PositionEncoding | None = None
    ) -> Tensor:
        """Logits of the next token at each place.

        Args:
            tokens: (B, T), int64.
            positions: (T,) or (B, T); 0 … T−1 if None.
            encoding: used in place of the model's own, as RoPE with other frequencies.

        Returns:
            (B, T, vocabulary).

        Raises:
            TypeError: tokens are no int64 tensor, positions no tensor of numbers, or encoding no PositionEncoding.
            ValueError: a shape does not fit, a token is outside the vocabulary, or the encoding's bias is for another
                number of heads.
        """
        check_tokens("tokens", tokens, ndim=2, shape="(B, T)")
        encoding = self.encoding if encoding is None else check_encoding(encoding)
        positions = torch.arange(tokens.shape[1], device=tokens.device) if positions is None else positions
        x = self.embed(tokens) * math.sqrt(self.embed.embedding_dim)  # entries of size 1, as a sinusoid's are
        check_positions_fit("positions", positions, x, "tokens")
        x = encoding.add(x, positions)
        bias = self._causal_bias(encoding, positions, x.dtype)
        for block in self.blocks:
            x = block(x, positions, encoding, bias)
        return self.head(self.norm(x))

    def _causal_bias(self, encoding: PositionEncoding, positions: Tensor, dtype: torch.dtype) -> Tensor | None:
        """The encoding's bias with −∞ above the diagonal, (B or 1, H, T, T); None for the faster kernel if it has none.

        In the queries' dtype: given another, torch's kernel for the CPU may return wrong numbers without a word.
        """
        bias = encoding.bias(positions, positions)
        if bias is None:
            return None
        if bias.shape[-3] != self.num_heads:
            raise ValueError(f"encoding must have a bias for {self.num_heads} heads, got {bias.shape[-3]}")
        later = torch.ones(bias.shape[-2:], dtype=torch.bool, device=bias.device).triu(1)
        bias = bias.to(dtype).masked_fill(later, -torch.inf)
        return bias if bias.ndim == 4 else bias[None]


def check_model(model: TinyTransformer) -> TinyTransformer:
    """The model, if it is one."""
    if not isinstance(model, TinyTransformer):
        raise TypeError(f"model must be a TinyTransformer (model.compile() keeps it one), got {type(model).__name__}")
    return model
