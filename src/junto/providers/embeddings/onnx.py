"""all-MiniLM-L6-v2, loaded: a text goes in, its vector comes out."""

import contextlib
import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from junto.providers.embeddings.texts import presentable

# It was trained on no more; what comes after says nothing.
_MOST_TOKENS = 256
# So that nobody cuts a book into tokens to throw all but 256 away.
_MOST_CHARACTERS = 8192
_FATAL = 4


@dataclass(frozen=True, slots=True)
class Network:
    """The network and its tokenizer, which several threads may use at once.

    Texts go through one by one. On a processor a batch is no faster (60 ms for 200 tokens in
    batches of 1 and of 4, 80 ms in batches of 32), takes up to 1 GB, and is padded. Alone, a text
    has the same vector to the last bit, whatever else is being worked on.
    """

    session: onnxruntime.InferenceSession
    tokenizer: Tokenizer

    @classmethod
    def loaded(cls, network: Path, tokenizer: Path) -> "Network":
        """Read it from its two files."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL  # whatever else goes wrong is raised
        # Several texts are worked on side by side instead, which takes less time in all.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(network), options, providers=["CPUExecutionProvider"]
        )
        words = Tokenizer.from_file(str(tokenizer))
        words.no_padding()
        words.enable_truncation(_MOST_TOKENS)
        cls.give_back()
        return cls(session, words)

    def vector(self, text: str) -> bytes:
        """Return the vector of a text, of length one."""
        # Not `encode_batch`, which would start threads of its own.
        tokens = self.tokenizer.encode(presentable(text, _MOST_CHARACTERS)).ids
        ids = np.array([tokens], np.int64)
        (states,) = self.session.run(
            None,
            {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            },
        )
        mean = states[0].mean(axis=0)
        return bytes((mean / np.linalg.norm(mean)).astype("<f4").tobytes())

    @staticmethod
    def give_back() -> None:
        """Return freed memory to the system: the C library keeps 60 MB of it after loading."""
        with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has the call
            ctypes.CDLL(None).malloc_trim(0)
