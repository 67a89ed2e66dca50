# SPDX-License-Identifier: Apache-2.0
"""What holds for every strategy."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program
from ccbench.errors import InputError
from ccbench.raygen import DEFAULT_SPACE, Candidate, Chromosome, SearchConfig, Strategy, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.emulate import Engine
    from ccbench.raygen import Progress
    from tests.unit.conftest import ArithmeticEngine

STRATEGIES = ["genetic", "random", "sweep", "surrogate"]

every_strategy = pytest.mark.parametrize("name", STRATEGIES)


def _distance(chromosome: Chromosome) -> float:
    """Fitness with one peak, inside the space."""
    peak = (60.0, 50.0, 0.7, 4, 2)
    return -sum(abs(math.log(ours / best)) for ours, best in zip(chromosome, peak, strict=True))


def _config(name: Any, **changes: Any) -> SearchConfig:
    settings: dict[str, Any] = {
        "alpha": "greedy",
        "beta": "even",
        "budget": 40,
        "population": 20,
        "duration_s": 4.0,
        "strategy": name,
    }
    return SearchConfig(**settings | changes)


def _generations(
    strategy: Strategy, fitness: Callable[[Chromosome], float] = _distance
) -> list[tuple[Candidate, ...]]:
    generations = []
    while candidates := strategy.ask():
        strategy.tell([fitness(candidate.chromosome) for candidate in candidates])
        generations.append(candidates)
    return generations


def _global_state() -> tuple[object, str]:
    """Return where the random generators that everybody shares stand."""
    return random.getstate(), repr(np.random.get_state())  # noqa: NPY002 - the global one is meant


@every_strategy
class TestEveryStrategy:
    @pytest.mark.parametrize(("budget", "population"), [(4, 4), (11, 4), (40, 20), (53, 24)])
    def test_keeps_to_the_budget(self, name: str, budget: int, population: int) -> None:
        """It proposes what it has planned, in as many generations, and no more than the budget."""
        strategy = _config(name, budget=budget, population=population).new_strategy()
        generations = _generations(strategy)
        assert strategy.generations == len(generations)
        assert strategy.planned == sum(map(len, generations)) <= budget

    def test_stays_in_the_space(self, name: str) -> None:
        """Every gene of every chromosome is a value of the gene."""
        for candidate in sum(_generations(_config(name).new_strategy()), ()):
            for gene, value in zip(DEFAULT_SPACE.genes, candidate.chromosome, strict=True):
                assert gene.low <= value <= gene.high
                assert value == gene.at(gene.unit_value(value))

    def test_numbers_and_generations(self, name: str) -> None:
        """Candidates are numbered in the order of proposal; generations count from 1."""
        generations = _generations(_config(name).new_strategy())
        proposed = [candidate for generation in generations for candidate in generation]
        assert list(range(len(proposed))) == [candidate.number for candidate in proposed]
        for number, generation in enumerate(generations, start=1):
            assert {number} == {candidate.generation for candidate in generation}

    def test_seed_decides(self, name: str) -> None:
        """The same seed and fitness give the same proposals; another seed gives others."""
        first, again, other = (
            _generations(_config(name, seed=seed).new_strategy()) for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_global_random_numbers_are_left_alone(self, name: str) -> None:
        """Neither does it draw from the global generators, nor do others' draws change it."""
        state = _global_state()
        undisturbed = _generations(_config(name).new_strategy())
        assert state == _global_state()

        def disturb(chromosome: Chromosome) -> float:
            random.random()
            np.random.random()  # noqa: NPY002 - the global one is meant
            return _distance(chromosome)

        assert undisturbed == _generations(_config(name).new_strategy(), disturb)

    def test_equal_fitness(self, name: str) -> None:
        """Where nothing is fitter than anything else, the search still runs to its end."""
        strategy = _config(name).new_strategy()
        generations = _generations(strategy, fitness=lambda _: 0.0)
        assert strategy.generations == len(generations)

    def test_generations_take_turns(self, name: str) -> None:
        """A generation cannot be asked for before the fitness of the last one is told."""
        strategy = _config(name).new_strategy()
        strategy.ask()
        with pytest.raises(RuntimeError, match="before tell"):
            strategy.ask()

    def test_every_candidate_needs_its_fitness(self, name: str) -> None:
        """Fitness for fewer or more candidates than were asked for is refused."""
        strategy = _config(name).new_strategy()
        strategy.ask()
        with pytest.raises(ValueError, match="zip"):
            strategy.tell([0.0])

    def test_budget_below_the_population(self, name: str) -> None:
        """A budget that does not even pay the first generation is refused."""
        with pytest.raises(InputError, match=r"^budget is 19; it must be at least the population"):
            _config(name, budget=19)

    def test_order_of_completion_does_not_matter(self, name: str, engine: Engine) -> None:
        """The number of jobs, and with it the order in which runs finish, changes nothing."""
        config = _config(name, budget=12, population=4)
        alone, together = (search(config, engine=engine, store=None, jobs=jobs) for jobs in (1, 8))
        assert alone == together
        assert config.planned == len(alone.evaluations)

    def test_goes_on_where_it_was_stopped(self, name: str, engine: ArithmeticEngine) -> None:
        """Stopped in the middle and started again, it finds the same; finished runs stay so."""
        config = _config(name, budget=12, population=4)

        def stop(now: Progress) -> None:
            if now.done == 7:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            search(config, engine=engine, jobs=1, on_progress=stop)
        resumed = search(config, engine=engine)
        unfinished = 1  # with one job, no more than this can be under way when it is stopped
        assert len(engine.ran) <= len(set(engine.ran)) + unfinished
        assert resumed == search(config, engine=engine, store=None)


class TestBeginning:
    @pytest.mark.parametrize("name", ["random", "surrogate"])
    def test_same_first_generation(self, name: str) -> None:
        """With the same seed strategies start from the same scenarios: the comparison is fair."""
        first, genetic = (_config(which).new_strategy().ask() for which in (name, "genetic"))
        assert genetic == first


@every_strategy
class TestUnknown:
    def test_unknown_strategy(self, name: str) -> None:
        """A strategy that does not exist is refused with those that there are and the nearest."""
        misspelt = name[:-1]
        message = rf"^strategy is '{misspelt}'; it must be one of .*{name}.*: did you mean '{name}'"
        with pytest.raises(InputError, match=message):
            _config(misspelt)

    def test_command(self, name: str) -> None:
        """The command says so in one line."""
        options = ["--alpha", "bbr", "--beta", "cubic", "--strategy", f"{name}s"]
        result = CliRunner().invoke(program, ["raygen", *options])
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert 1 == len(result.stderr.splitlines())
        assert f"did you mean '{name}'" in result.stderr
