"""Set-ups for well-known servers, a few lines each. The tests run every one against a server that speaks its dialect.

python examples/providers.py ollama "What is 4 + 8?"
"""

from __future__ import annotations

import asyncio
import os
import sys

from branchwise.model.base import Message, Request
from branchwise.model.layers.retrying import Retrying
from branchwise.model.registry import open_model

PROVIDERS = {
    # OpenAI: the key from the environment variable OPENAI_API_KEY, or --key-file.
    "openai": "openai:gpt-4o-mini",
    # Anthropic's OpenAI-compatible endpoint: ANTHROPIC_API_KEY. One sample a request; more are asked for in several.
    "anthropic": "https://api.anthropic.com/v1#claude-3-5-haiku-20241022",
    # Google's OpenAI-compatible endpoint: GEMINI_API_KEY.
    "google": "https://generativelanguage.googleapis.com/v1beta/openai#gemini-2.5-flash",
    # Ollama: `ollama serve`, `ollama pull qwen2.5-coder:1.5b`. It knows no n; set OLLAMA_NUM_PARALLEL for several at once.
    "ollama": "http://127.0.0.1:11434/v1#qwen2.5-coder:1.5b",
    # vLLM: `vllm serve Qwen/Qwen2.5-Coder-1.5B-Instruct --enable-prefix-caching`
    "vllm": "http://127.0.0.1:8000/v1#Qwen/Qwen2.5-Coder-1.5B-Instruct",
    # SGLang: `python -m sglang.launch_server --model-path Qwen/Qwen2.5-Coder-1.5B-Instruct --port 30000`
    "sglang": "http://127.0.0.1:30000/v1#Qwen/Qwen2.5-Coder-1.5B-Instruct",
}


async def ask(spec: str, text: str, n: int = 2) -> list[str]:
    """`n` samples from the model that `spec` names, with retries. The same names work after `branchwise solve --model`."""
    async with open_model(spec, environ=os.environ) as backend:
        reply = await Retrying(backend).sample(Request((Message("user", text),), n=n, stop=("\nQuestion:",), seeds=tuple(range(n))))
    return reply.texts


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PROVIDERS:
        raise SystemExit(f'usage: python {sys.argv[0]} NAME "QUESTION", with one of {", ".join(PROVIDERS)} for NAME')
    name, question = sys.argv[1:3]
    print(asyncio.run(ask(PROVIDERS[name], question)))
