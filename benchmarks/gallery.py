"""Classify the gallery and write its page.

python benchmarks/gallery.py > docs/concepts/gallery.md
"""

from __future__ import annotations

from clew.machines import gallery
from clew.machines.certificates.claims import Sparse, Unencodable, verdict_name
from clew.machines.deciding.classify import Classification, classify
from clew.machines.model.ends import with_end

LIMIT = 2000
VARIANTS: dict[str, list[dict]] = {
    "Coin": [{}, {"horizon": 6}],
    "Dictation-dense": [{}, {"positions": True}, {"k": 3}],
    "Dictation-sparse": [{}, {"positions": True}, {"k": 3}],
}
HEAD = """# Known POMDPs, classified

Encodings are our own; `clew classify NAME` prints the answer in words, and `--options` changes
what a builder takes. This page is made by
`python benchmarks/gallery.py > docs/concepts/gallery.md`; what the columns mean is said in
[theory](theory.md).

*Posteriors* are counted together with the observation they end in, up to {limit:,}. *Encoder* is
the size of the machine that the verdict rests on, and *at least* the proven lower bound for any
encoder. *Supervised* lists, for each latent variable, how many of the pairs that differ in its
marginal alone every encoder keeps apart. *Greed* is what the policy that is greedy for one-step
rewards earns with perfect memory. Nothing is paid once an episode is over (end=stops); where a
verdict is another if terminal states go on for ever, as the paper's abstractions write them, that
row follows (end=absorbing).

| POMDP | states | posteriors | verdict | encoder | at least | supervised | J* | greed | bonus |
|---|---|---|---|---|---|---|---|---|---|"""


def row(name: str, answer: Classification) -> str:
    verdict = verdict_name(answer.verdict)
    if isinstance(answer.verdict, Sparse) and len(answer.verdict.product.machine.states) == 1:
        verdict += " (one state)"
    if isinstance(answer.verdict, Unencodable):
        verdict += " (no machine encodes)"
    posteriors = f"{len(answer.beliefs.cells):,}" if answer.beliefs.finite else "not finite"
    encoder = len(answer.encoder.machine.states) if answer.encoder else "—"
    supervised = "—"
    if answer.profile is not None:
        counted = [
            f"{variable} {tally.unpoolable}/{tally.pairs}"
            for variable, tally in answer.profile.variables.items()
            if tally.pairs
        ]
        supervised = ", ".join(counted) or "no pairs"
    best = f"{float(answer.best.value):.4f}" if answer.best else "—"
    earned = answer.ranking.greedy_value if answer.ranking else None
    greed = f"{float(earned):.4f}" if earned is not None else "—"
    cells = (
        name,
        len(answer.pomdp.states),
        posteriors,
        verdict,
        encoder,
        "∞" if isinstance(answer.verdict, Unencodable) else answer.bound.states,
        supervised,
        best,
        greed,
        answer.diagnosis.outcome,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    print(HEAD.format(limit=LIMIT))
    for name in gallery.names():
        for options in VARIANTS.get(name, [{}]):
            shown = ", ".join(f"{key}={value}" for key, value in options.items())
            pomdp = gallery.make(name, **options)
            stops = classify(pomdp, LIMIT)
            print(row(f"{name} ({shown})" if shown else name, stops))
            written = classify(with_end(pomdp, "absorbing"), LIMIT) if pomdp.terminal else stops
            if written.bound.states != stops.bound.states:
                print(row(f"{name} ({', '.join(filter(None, (shown, 'end=absorbing')))})", written))


if __name__ == "__main__":
    main()
