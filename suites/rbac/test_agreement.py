"""Access reviews are what tools for audits ask; they are worth as much as they agree with what really happens."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.kube.discovery import Served
from fixtures.rbac.personas import reviews, users
from fixtures.rbac.personas.identities import Persona


@check(
    "rbac.agreement.reviews-match-requests",
    level="core",
    source="GP-1",
    hint="an admission policy or a proxy refuses what the authorizer grants: an audit by reviews does not see that",
)
def test_reviews_match_requests(
    check_run: CheckRun, operator: Persona, viewer: Persona, outsider: Persona, elsewhere: str, api: tuple[Served, ...]
) -> None:
    """Access reviews and live requests give the same answers for operators, viewers and strangers."""
    differ = [
        text
        for persona in (operator, viewer, outsider)
        for text in reviews.disagreements(check_run.kube, persona, users.sample(api, persona.namespace, elsewhere))
    ]
    expect(not differ, "reviews and requests agree", "\n".join(differ[:5]), f"{len(differ)} differ")
