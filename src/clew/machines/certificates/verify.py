"""Check a certificate without trusting the code that made it.

Only the model and the claims are shared with that code: filters, laws and equations are worked
out anew, in plain fractions, as the definitions say.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.machines.certificates.claims import (
    Bound,
    Dense,
    Differs,
    Encodes,
    Mixed,
    Optimal,
    Perfect,
    Pooled,
    Refuted,
    Sparse,
    Unencodable,
)
from clew.machines.certificates.filters import Rejected, demand
from clew.machines.certificates.machines import (
    check_differs,
    check_encodes,
    check_mixed,
    check_perfect,
    check_pooled,
    check_refuted,
)
from clew.machines.certificates.pairs import check_bound, check_dense
from clew.machines.certificates.pomdps import check_optimal, check_unencodable

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


def check_sparse(proof: Sparse) -> None:
    """One machine encodes and is not perfect."""
    same = proof.encodes.product is proof.product and proof.mixed.product is proof.product
    demand(same, "the proofs are about different machines")
    check_encodes(proof.encodes)
    check_mixed(proof.mixed)


_CHECKS: dict[type, Callable[..., None]] = {
    Bound: check_bound,
    Dense: check_dense,
    Differs: check_differs,
    Encodes: check_encodes,
    Mixed: check_mixed,
    Optimal: check_optimal,
    Perfect: check_perfect,
    Pooled: check_pooled,
    Refuted: check_refuted,
    Sparse: check_sparse,
    Unencodable: check_unencodable,
}
