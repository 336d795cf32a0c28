"""all-MiniLM-L6-v2 in ONNX Runtime: compute the vector of a text."""

import contextlib
import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from junto.providers.embeddings.middleware import prepare_text

# The model was trained on no more than this; further tokens add nothing.
_MAX_TOKENS = 256
# Avoids tokenizing a long text only to drop all but its first tokens.
_MAX_CHARS = 8192
_FATAL_LOG_LEVEL = 4


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """The network and its tokenizer, which several threads may use at once.

    Texts are processed one at a time. On a CPU, a batch is no faster (60 ms for 200 tokens in
    batches of 1 and of 4, 80 ms in batches of 32), uses up to 1 GB, and needs padding. Without
    batches, the same text always has exactly the same vector.
    """

    session: onnxruntime.InferenceSession
    tokenizer: Tokenizer

    @classmethod
    def load(cls, network_path: Path, tokenizer_path: Path) -> "OnnxModel":
        """Load the model from its two files."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL_LOG_LEVEL  # other errors are raised as exceptions
        # Texts are processed in parallel instead, which is faster overall.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(network_path), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(tokenizer_path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MAX_TOKENS)
        cls.trim_memory()
        return cls(session, tokenizer)

    def embed(self, text: str) -> bytes:
        """Return the vector of a text, normalized to unit length."""
        # Not `encode_batch`, which starts threads of its own.
        tokens = self.tokenizer.encode(prepare_text(text, _MAX_CHARS)).ids
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
    def trim_memory() -> None:
        """Return freed memory to the system; glibc keeps 60 MB of it after loading."""
        with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has malloc_trim
            ctypes.CDLL(None).malloc_trim(0)
