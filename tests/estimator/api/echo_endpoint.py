"""An endpoint that answers with nothing but the resolved plan, to test the kit without anybody's figures."""

from estimator.estimates.echo import PlanAnswer, plan_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.question.plan import PlanRequest
from estimator.resolvers.resolve import resolve_plan


class EchoRequest(PlanRequest):
    """A plan."""


class EchoAnswer(PlanAnswer):
    """The plan."""


def answer_echo(body: EchoRequest, asked: Asked) -> EchoAnswer:
    plan = resolve_plan(body, asked.facts)
    return EchoAnswer(**plan_parts(plan, steps=[], explain=asked.explain))


ECHO = Endpoint(
    slug="echo",
    summary="Echo",
    description="Echo",
    request=EchoRequest,
    response=EchoAnswer,
    answer=answer_echo,
)
