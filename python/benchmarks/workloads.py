"""Programs of PyTorch that allocate as real ones do, small enough to run in seconds.

Each is a generator: what comes before its first step is set-up, and each step
yields a tensor of one number, the loss, by which runs are compared bit by bit.
All of them draw shapes and data from seeds, so each run is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DEVICE = "cuda"
Workload = Callable[[], Iterator[Tensor]]


# ---- Parts ----


class Attention(nn.Module):
    """Heads that look at each other's positions."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: Tensor) -> Tensor:
        """Mix positions."""
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int, heads: int, causal: bool, mlp: nn.Module | None = None) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = mlp or nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Mix positions, then work on each."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Tokens in, scores of tokens out."""

    def __init__(
        self, words: int, width: int, layers: int, heads: int, longest: int, causal: bool
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width, heads, causal) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Score the next tokens."""
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def train(model: nn.Module, loss: Tensor, optimizer: torch.optim.Optimizer) -> Tensor:
    """Do the second half of a step."""
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def token_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """Tell how badly a model guesses each token from those before."""
    with torch.autocast(DEVICE, torch.bfloat16):
        scores = model(tokens[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1).float(), tokens[:, 1:].flatten())


# ---- Training ----


def gpt2() -> Iterator[Tensor]:
    """Train a language model on sequences of one length."""
    model = Transformer(16384, 768, 6, 12, 512, causal=True).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    while True:
        tokens = torch.randint(16384, (12, 512), device=DEVICE)
        yield train(model, token_loss(model, tokens), optimizer)


def bert() -> Iterator[Tensor]:
    """Train an encoder on batches of changing length."""
    lengths = random.Random(1)
    model = Transformer(16384, 768, 4, 12, 512, causal=False).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    while True:
        tokens = torch.randint(16384, (16, lengths.randrange(48, 512)), device=DEVICE)
        yield train(model, token_loss(model, tokens), optimizer)


class Residual(nn.Module):
    """Two convolutions around which the input goes too."""

    def __init__(self, come: int, go: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(come, go, 3, stride, 1, bias=False),
            nn.BatchNorm2d(go),
            nn.ReLU(),
            nn.Conv2d(go, go, 3, 1, 1, bias=False),
            nn.BatchNorm2d(go),
        )
        self.around = nn.Conv2d(come, go, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add both ways."""
        return F.relu(self.body(x) + self.around(x))


def backbone() -> nn.Sequential:
    """Make a small residual network."""
    widths = [64, 64, 128, 256, 512]
    blocks = [Residual(a, b, 2) for a, b in zip(widths, widths[1:], strict=False)]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.ReLU(), *blocks)


def resnet() -> Iterator[Tensor]:
    """Train a convolutional network on images of changing size."""
    sizes = random.Random(2)
    model = backbone().to(DEVICE)
    head = nn.Linear(512, 1000).to(DEVICE)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], 0.01, momentum=0.9)
    while True:
        side = sizes.randrange(160, 416, 32)
        images = torch.randn(48, 3, side, side, device=DEVICE)
        labels = torch.randint(1000, (48,), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            scores = head(model(images).mean((2, 3)))
        yield train(model, F.cross_entropy(scores.float(), labels), optimizer)


class Experts(nn.Module):
    """Each token goes to the two of eight experts that want it most."""

    def __init__(self, width: int, count: int = 8) -> None:
        super().__init__()
        self.choice = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Send tokens to experts, and add what these answer."""
        flat = x.flatten(0, 1)
        weights, chosen = self.choice(flat).softmax(-1).topk(2, -1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            token, place = (chosen == number).nonzero(as_tuple=True)
            answer = expert(flat[token]) * weights[token, place, None]
            out = out.index_add(0, token, answer.to(out.dtype))
        return out.view_as(x)


def moe() -> Iterator[Tensor]:
    """Train a mixture of experts: how many tokens an expert gets changes."""
    width = 512
    layers = [Layer(width, 8, True, Experts(width)) for _ in range(3)]
    model = nn.Sequential(nn.Embedding(8192, width), *layers, nn.Linear(width, 8192)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    while True:
        tokens = torch.randint(8192, (12, 384), device=DEVICE)
        yield train(model, token_loss(model, tokens), optimizer)


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Tell for each pair of boxes how much they have in common."""
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(-1), (b[:, 2:] - b[:, :2]).prod(-1)
    return common / (area_a[:, None] + area_b[None] - common)


def boxes(count: int, side: int) -> Tensor:
    """Make boxes within an image."""
    corner = torch.rand(count, 2, device=DEVICE) * side * 0.8
    return torch.cat([corner, corner + 4 + torch.rand(count, 2, device=DEVICE) * side * 0.2], 1)


def crop(features: Tensor, found: Tensor, scale: float) -> Tensor:
    """Pick 7 x 7 places of the features in each box."""
    steps = torch.linspace(0, 1, 7, device=DEVICE)
    last = torch.tensor([features.shape[-1] - 1, features.shape[-2] - 1], device=DEVICE)
    at = found[:, None, :2] + steps[None, :, None] * (found[:, 2:] - found[:, :2])[:, None]
    at = torch.minimum((at * scale).long(), last)
    picked = features[:, at[:, :, None, 1], at[:, None, :, 0]]
    return picked.permute(1, 0, 2, 3).flatten(1)


def detection() -> Iterator[Tensor]:
    """Train a detector: sizes of images and numbers of boxes change."""
    numbers = random.Random(3)
    model = backbone().to(DEVICE)
    head = nn.Sequential(nn.Linear(512 * 49, 1024), nn.ReLU(), nn.Linear(1024, 4)).to(DEVICE)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], 1e-3)
    while True:
        side = numbers.randrange(384, 800, 64)
        images = torch.randn(4, 3, side, side, device=DEVICE)
        losses = []
        for features in model(images):
            proposed = boxes(numbers.randrange(300, 3000), side)
            truth = boxes(numbers.randrange(20, 300), side)
            best = overlap(proposed, truth).argmax(1)
            moved = head(crop(features, proposed, features.shape[-1] / side))
            losses.append(F.smooth_l1_loss(moved, (truth[best] - proposed) / side))
        yield train(model, torch.stack(losses).mean(), optimizer)


# ---- Serving ----


class Serving(nn.Module):
    """A decoder whose keys and values grow with each token."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(16384, width)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, 3 * width, bias=False),
                nn.SiLU(),
                nn.Linear(3 * width, width, bias=False),
            )
            for _ in range(layers)
        )
        self.heads = width // 64

    def forward(self, tokens: Tensor, cache: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Decode tokens of one sequence behind those whose keys and values are cached."""
        x = self.words(tokens)[None]
        length = tokens.shape[0]
        for number, (qkv, mlp) in enumerate(zip(self.qkv, self.mlp, strict=True)):
            q, k, v = qkv(x).view(1, length, 3, self.heads, 64).permute(2, 0, 3, 1, 4)
            if number < len(cache):
                k = torch.cat([cache[number][0], k], 2)
                v = torch.cat([cache[number][1], v], 2)
                cache[number] = (k, v)
            else:
                cache.append((k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + mixed.transpose(1, 2).reshape(1, length, -1)
            x = x + mlp(x)
        return x[0, -1]


@torch.no_grad()
def serving() -> Iterator[Tensor]:
    """Serve requests that come, grow by a token a step, and go."""
    numbers = random.Random(4)
    model = Serving(1024, 4).to(DEVICE, torch.bfloat16)
    caches: list[tuple[list[tuple[Tensor, Tensor]], int]] = []
    while True:
        total = torch.zeros((), device=DEVICE)
        caches = [(cache, left - 1) for cache, left in caches if left > 0]
        while len(caches) < 12:
            prompt = torch.randint(16384, (numbers.randrange(64, 1536),), device=DEVICE)
            cache: list[tuple[Tensor, Tensor]] = []
            total += model(prompt, cache).float().sum()
            caches.append((cache, numbers.randrange(4, 40)))
        for cache, _ in caches:
            token = torch.randint(16384, (1,), device=DEVICE)
            total += model(token, cache).float().sum()
        yield total


# ---- Streams and graphs ----


def streams() -> Iterator[Tensor]:
    """Work on four streams, which hand tensors to each other."""
    numbers = random.Random(5)
    queues = [torch.cuda.Stream() for _ in range(4)]
    weights = [torch.randn(1024, 1024, device=DEVICE) / 32 for _ in queues]
    torch.cuda.synchronize()
    main = torch.cuda.current_stream()
    while True:
        handed = [torch.randn(numbers.randrange(256, 4096), 1024, device=DEVICE) for _ in queues]
        for queue in queues:
            queue.wait_stream(main)
        for _ in range(3):
            handed = _pass_on(queues, weights, handed)
        for queue in queues:
            main.wait_stream(queue)
        total = torch.zeros((), device=DEVICE)
        for tensor in handed:
            tensor.record_stream(main)
            total += tensor.square().mean()
        yield total


def _pass_on(
    queues: list[torch.cuda.Stream], weights: list[Tensor], handed: list[Tensor]
) -> list[Tensor]:
    out = []
    for number, queue in enumerate(queues):
        come = handed[(number + 1) % len(handed)]
        queue.wait_stream(queues[(number + 1) % len(queues)])
        with torch.cuda.stream(queue):
            x = come
            for _ in range(4):
                x = torch.tanh(x @ weights[number])
            come.record_stream(queue)
            out.append(x)
    return out


def models() -> Iterator[Tensor]:
    """Train four models side by side, each on a stream of its own."""
    queues = [torch.cuda.Stream() for _ in range(4)]
    widths = (2048, 1536, 1024, 1792)
    encoders = [
        nn.Sequential(*(Layer(width, 8, causal=False) for _ in range(4))).to(DEVICE)
        for width in widths
    ]
    optimizers = [torch.optim.SGD(encoder.parameters(), 1e-4) for encoder in encoders]
    batches = [torch.randn(8, 256, width, device=DEVICE) for width in widths]
    torch.cuda.synchronize()
    while True:
        losses = []
        for queue, encoder, optimizer, batch in zip(
            queues, encoders, optimizers, batches, strict=True
        ):
            with torch.cuda.stream(queue):
                with torch.autocast(DEVICE, torch.bfloat16):
                    loss = encoder(batch).square().mean()
                losses.append(train(encoder, loss, optimizer))
        torch.cuda.synchronize()
        yield torch.stack(losses).sum()


def graph() -> Iterator[Tensor]:
    """Replay a captured step of training, beside work that is not captured."""
    model = nn.Sequential(
        nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 512)
    ).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.randn(1024, 2048, device=DEVICE)
    target = torch.randn(1024, 512, device=DEVICE)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(batch), target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = step()
    numbers = random.Random(6)
    while True:
        other = torch.randn(numbers.randrange(1 << 20, 1 << 24), device=DEVICE)
        batch.copy_(torch.randn(1024, 2048, device=DEVICE))
        captured.replay()
        yield loss.detach() + other[:1].mul(0).sum()


def tensors() -> Iterator[Tensor]:
    """Make and drop tensors: what calls of the allocator cost, and nothing else."""
    numbers = random.Random(7)
    sizes = [numbers.choice((512, 1 << 14, 1 << 18, 1 << 21)) for _ in range(2000)]
    total = torch.zeros((), device=DEVICE)
    while True:
        for size in sizes:
            torch.empty(size, dtype=torch.uint8, device=DEVICE)
        yield total


def compiled() -> Iterator[Tensor]:
    """Train a model that torch.compile made."""
    model = Transformer(8192, 512, 3, 8, 256, causal=True).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    fast = torch.compile(model)
    while True:
        tokens = torch.randint(8192, (16, 256), device=DEVICE)
        yield train(model, token_loss(fast, tokens), optimizer)


@torch.no_grad()
def reduce_overhead() -> Iterator[Tensor]:
    """Run a model that torch.compile made of graphs."""
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(DEVICE)
    fast = torch.compile(model, mode="reduce-overhead")
    while True:
        yield fast(torch.randn(512, 1024, device=DEVICE)).square().mean()


WORKLOADS: dict[str, Workload] = {
    "gpt2": gpt2,
    "bert": bert,
    "resnet": resnet,
    "moe": moe,
    "detection": detection,
    "serving": serving,
    "streams": streams,
    "models": models,
    "graph": graph,
    "tensors": tensors,
    "compiled": compiled,
    "reduce_overhead": reduce_overhead,
}
