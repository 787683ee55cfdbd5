import builtins

import pytest
import torch

from posenc_lib.tiny_lm import corpus
from posenc_lib.tiny_lm.corpus import VOCABULARY, decode, encode, load_corpus, split_by_topic


def topics(number=40, paragraphs=60):
    return {
        f"topic {n}": "\n\n".join(f"paragraph {p} of topic {n}, long enough" for p in range(paragraphs))
        for n in range(number)
    }


def test_vocabulary_is_newline_ascii_and_one_for_the_rest():
    assert VOCABULARY[0] == "\n"
    assert VOCABULARY[1:-1] == "".join(chr(code) for code in range(32, 127))
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 97


def test_text_comes_back_and_other_characters_become_one_sign():
    assert decode(encode("def f(x):\n  return 2~")) == "def f(x):\n  return 2~"
    assert encode("é—").tolist() == [96, 96]
    assert encode("").shape == (0,)


def test_a_token_that_is_none_is_refused():
    for outside in (-1, 97):
        with pytest.raises(ValueError, match=f"tokens must lie from 0 to 96, got {outside}"):
            decode(torch.tensor([outside]))


def test_held_out_and_training_text_share_no_paragraph():
    quoted = "a paragraph that two topics quote"
    together = {name: f"{text}\n\n{'  ' * len(name)}{quoted}\n" for name, text in topics().items()}
    for source in (split_by_topic(together), load_corpus()):
        train, held_out = (
            {" ".join(paragraph.split()) for paragraph in decode(tokens).split("\n\n")} - {""}
            for tokens in (source.train, source.held_out)
        )
        assert len(train) > 100
        assert len(held_out) > 100
        assert not train & held_out


def test_a_new_topic_moves_no_other():
    before, after = split_by_topic(topics()), split_by_topic(topics() | {"new": "some words"})
    for old, new in ((before.train, after.train), (before.held_out, after.held_out)):
        assert set(decode(old).split("\n\n")) <= set(decode(new).split("\n\n"))


def test_hash_follows_the_text_alone():
    assert split_by_topic(topics()).hash == split_by_topic(dict(reversed(topics().items()))).hash
    changed = topics() | {"topic 3": topics()["topic 3"] + "!"}
    assert split_by_topic(changed).hash != split_by_topic(topics()).hash


def test_too_short_a_corpus_is_refused():
    with pytest.raises(ValueError, match=r"too short: the held-out text must have at least 20000 .* got \d+"):
        split_by_topic(topics(number=4))
    with pytest.raises(ValueError, match="topics are too short"):
        split_by_topic({})


def test_docstrings_stand_in_where_the_topics_are_left_out(monkeypatch):
    real_import = builtins.__import__

    def without_topics(name, *args, **kwargs):
        if name.startswith("pydoc_data"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_topics)
    source = split_by_topic(corpus._topics())
    assert len(source.train) > 100_000
    assert len(source.held_out) > 20_000


def test_corpus_is_read_once():
    assert load_corpus() is load_corpus()
    assert load_corpus().train.dtype == torch.long
