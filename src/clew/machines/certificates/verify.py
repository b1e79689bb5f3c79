"""Check a certificate without trusting the code that made it.

Only the model and the claims are shared with that code: filters, laws and equations are worked
out anew, in plain fractions, as the definitions say.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.machines.certificates import claims, loops, machines, pairs, pomdps
from clew.machines.certificates.filters import Rejected, demand

__all__ = ["Rejected", "verify"]


def verify(certificate: object) -> None:
    """Return if the certificate proves its claim; raise `Rejected` with the reason if not."""
    check = _CHECKS.get(type(certificate))
    if check is None:
        raise Rejected(f"{type(certificate).__name__} is not a certificate")
    try:
        check(certificate)
    except LookupError as error:
        raise Rejected("the certificate is incomplete") from error


def check_sparse(proof: claims.Sparse) -> None:
    """One machine encodes and is not perfect."""
    same = proof.encodes.product is proof.product and proof.mixed.product is proof.product
    demand(same, "the proofs are about different machines")
    machines.check_encodes(proof.encodes)
    machines.check_mixed(proof.mixed)


_CHECKS: dict[type, Callable[..., None]] = {
    claims.Bound: pairs.check_bound,
    claims.Dense: pairs.check_dense,
    claims.Differs: machines.check_differs,
    claims.Encodes: machines.check_encodes,
    claims.Mixed: machines.check_mixed,
    claims.NeverPerfect: loops.check_never_perfect,
    claims.Optimal: pomdps.check_optimal,
    claims.Perfect: machines.check_perfect,
    claims.Pooled: machines.check_pooled,
    claims.Refuted: machines.check_refuted,
    claims.Sparse: check_sparse,
    claims.Unencodable: loops.check_unencodable,
}
