"""The strict reader of metrics pages accepts what the format's grammar has, and nothing else."""

from __future__ import annotations

import pytest

from tests.exposition_grammar import GrammarError, check

GAUGE = "# HELP g Doc.\n# TYPE g gauge\n"
HISTOGRAM = "# HELP h Doc.\n# TYPE h histogram\n"
SUMMARY = "# HELP s Doc.\n# TYPE s summary\n"


@pytest.mark.parametrize(
    "page",
    [
        "",
        GAUGE,
        f'{GAUGE}g 1\ng{{a="x"}} -1.5e-05\ng{{a="x",b="y"}} NaN\ng{{b="\\\\ \\" \\n é {{}},"}} +Inf\n',
        '# HELP g A "quote", a \\\\ and a \\n.\n# TYPE g gauge\n',
        f'{HISTOGRAM}h_bucket{{le="0.5"}} 1\nh_bucket{{le="+Inf"}} 3\nh_count 3\nh_sum -2.5\n',
        f'{SUMMARY}s{{quantile="0.5"}} -1\ns_count 1\ns_sum -1\n',
    ],
)
def test_accepted(page: str) -> None:
    check(page)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"{GAUGE}g 1", "does not end"),
        ('# HELP g A \\"quote\\".\n# TYPE g gauge\n', "only"),
        ("# HELP g Ends in \\\n# TYPE g gauge\n", "only"),
        ("# HELP g\n", "no HELP line"),
        (f"{GAUGE}{GAUGE}", "a second HELP line"),
        ("# HELP g Doc.\n# TYPE g number\n", "no TYPE line"),
        ("# HELP g Doc.\n# TYPE f gauge\n", "does not follow"),
        (f"{GAUGE}# TYPE g gauge\n", "does not follow"),
        ("g 1\n", "among those of no metric"),
        (f"{GAUGE}f 1\n", "among those of g"),
        (f"{GAUGE}g_sum 1\n", "among those of g"),
        (f"{GAUGE}\n", "no sample"),
        (f"{GAUGE}g True\n", "no sample"),
        (f"{GAUGE}g inf\n", "no sample"),
        (f"{GAUGE}g  1\n", "no sample"),
        (f"{GAUGE}g{{}} 1\n", "no sample"),
        (f'{GAUGE}g{{a="x" b="y"}} 1\n', "no labels"),
        (f'{GAUGE}g{{a="\\t"}} 1\n', "no labels"),
        (f'{GAUGE}g{{a="x"y"}} 1\n', "no labels"),
        (f'{GAUGE}g{{a="x",a="y"}} 1\n', "twice"),
        (f'{GAUGE}g{{__a="x"}} 1\n', "Prometheus's own"),
        (f'{GAUGE}g{{a="x",b="y"}} 1\ng{{b="y",a="x"}} 1\n', "the second sample"),
        ("# HELP c_total Doc.\n# TYPE c_total counter\nc_total -1\n", "a count"),
        (f'{GAUGE}g{{le="1"}} 1\n', "le belongs"),
        (f'{GAUGE}g{{quantile="0.5"}} 1\n', "quantile belongs"),
        (f"{SUMMARY}s 1\n", "quantile belongs"),
        (f'{SUMMARY}s{{quantile="2"}} 1\n', "a quantile that is none"),
        (f'{HISTOGRAM}h_bucket{{le="1"}} 1\nh_count 1\n', "do not grow"),
        (f'{HISTOGRAM}h_bucket{{le="1"}} 2\nh_bucket{{le="+Inf"}} 1\nh_count 1\n', "do not grow"),
        (f'{HISTOGRAM}h_bucket{{le="+Inf"}} 1\nh_count 2\n', "is not the count"),
        (f'{HISTOGRAM}h_bucket{{le="+Inf"}} 1\n', "is not the count"),
    ],
)
def test_refused(page: str, problem: str) -> None:
    with pytest.raises(GrammarError, match=problem):
        check(page)
