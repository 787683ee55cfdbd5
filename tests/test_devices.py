"""The same numbers on the GPU as on the CPU; every test here is skipped, by name, where there is no GPU."""

import pytest
import torch
from nbformat.v4 import new_code_cell

from posenc_lib import ENCODINGS, make_encoding
from posenc_lib.alibi import alibi_attention, alibi_slopes
from posenc_lib.attention import attention
from posenc_lib.lesson import pick_device
from posenc_lib.rope import rope_cos_sin, rope_frequencies
from tests.notebooks.cells import compared_texts, read
from tools.store_notebooks import execute, lessons, normalise

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ENCODINGS)
def test_attention_with_every_encoding_is_the_same_on_the_gpu(name, dtype):
    encoding = make_encoding(name, dim=32, num_heads=4, head_dim=8, max_len=64)
    q, k, v = draw(3, 2, 4, 64, 8).to(dtype)
    expected = attention(q, k, v, encoding=encoding, causal=True)
    out = attention(q.cuda(), k.cuda(), v.cuda(), encoding=encoding.cuda(), causal=True)
    assert out.is_cuda
    torch.testing.assert_close(out.cpu(), expected, rtol=max(1e-5, torch.finfo(dtype).eps), atol=1e-5)


def test_tables_far_out_are_the_same_on_the_gpu():
    positions = torch.tensor([0, 1, 257, 2**20])
    for ours, theirs in zip(
        rope_cos_sin(positions.cuda(), rope_frequencies(128)),
        rope_cos_sin(positions, rope_frequencies(128)),
        strict=True,
    ):
        assert ours.is_cuda
        torch.testing.assert_close(ours.cpu(), theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_flex_alibi_on_the_gpu_equals_the_dense_bias_forward_and_backward(dtype):
    q, k, v = draw(3, 1, 4, 256, 64)
    inputs = [t.cuda().to(dtype).requires_grad_() for t in (q, k, v)]
    exact = [t.double().requires_grad_() for t in (q, k, v)]
    encoding = make_encoding("alibi", dim=256, num_heads=4, head_dim=64, max_len=256)
    out = alibi_attention(*inputs, alibi_slopes(4).cuda())
    expected = attention(*exact, encoding=encoding, causal=True)
    out.sum().backward()
    expected.sum().backward()
    tolerance = 3e-2 if dtype == torch.bfloat16 else 2e-3  # float32 kernels may use TF32
    torch.testing.assert_close(out.cpu().double(), expected, rtol=tolerance, atol=tolerance)
    for ours, theirs in zip(inputs, exact, strict=True):
        torch.testing.assert_close(ours.grad.cpu().double(), theirs.grad, rtol=10 * tolerance, atol=10 * tolerance)


def test_lessons_pick_the_gpu():
    assert pick_device().type == "cuda"


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_lesson_computes_on_the_gpu_and_says_what_it_says_on_the_cpu(path):
    """What is stored comes from a CPU. A device that is only picked, and never computed on, allocates no memory."""
    notebook = read(path)
    stored = compared_texts(notebook)
    notebook.cells.append(new_code_cell("import torch\nprint(torch.cuda.max_memory_allocated() > 0)"))
    execute(notebook, path.parent, label=f"{path.name} on the GPU")
    normalise(notebook)
    assert notebook.cells.pop().outputs[0].text == "True\n"
    assert compared_texts(notebook) == stored
