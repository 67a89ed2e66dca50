# SPDX-License-Identifier: Apache-2.0
"""Properties of every strategy."""

from __future__ import annotations

import itertools
import math
import random
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from click.testing import CliRunner

from ccbench.base.errors import CcbenchError, InputError
from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program
from ccbench.raygen import (
    DEFAULT_SPACE,
    Candidate,
    Choice,
    Chromosome,
    SearchConfig,
    SearchResult,
    Space,
    Strategy,
    search,
    strategies,
)
from tests.documentation import DOCS
from tests.unit.conftest import assert_same
from tests.unit.raygen.conftest import Breaks, small

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ccbench.emulate import Engine
    from ccbench.raygen import Progress
    from tests.unit.conftest import ArithmeticEngine

pytestmark = pytest.mark.slow

STRATEGIES = strategies.names()

every_strategy = pytest.mark.parametrize("name", STRATEGIES)


def _distance(chromosome: Chromosome) -> float:
    """Fitness with one peak, inside the space."""
    peak = (60.0, 50.0, 0.7, 4, 2)
    return -math.dist(DEFAULT_SPACE.coordinates(chromosome), DEFAULT_SPACE.coordinates(peak))


def _config(name: Any = "genetic", **changes: Any) -> SearchConfig:
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
) -> list[Sequence[Candidate]]:
    generations = []
    while candidates := strategy.ask():
        strategy.tell([fitness(candidate.chromosome) for candidate in candidates])
        generations.append(candidates)
    return generations


def _global_state() -> tuple[object, str]:
    """Return the states of the global random generators."""
    return random.getstate(), repr(np.random.get_state())  # noqa: NPY002 - the global one is meant


@every_strategy
class TestEveryStrategy:
    @pytest.mark.parametrize(("budget", "population"), [(4, 4), (11, 4), (40, 20), (53, 24)])
    def test_keeps_to_the_budget(self, name: str, budget: int, population: int) -> None:
        """A strategy proposes the planned number, in as many generations, within the budget."""
        strategy = _config(name, budget=budget, population=population).new_strategy()
        generations = _generations(strategy)
        assert strategy.sizes == tuple(map(len, generations))
        assert sum(strategy.sizes) <= budget

    def test_stays_in_the_space(self, name: str) -> None:
        """Every gene of every chromosome is a value of the gene."""
        for candidate in itertools.chain(*_generations(_config(name).new_strategy())):
            for gene, value in zip(DEFAULT_SPACE.genes, candidate.chromosome, strict=True):
                assert value == gene.at(*gene.coordinates(value))

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

    @pytest.mark.parametrize("truth", [-9.0, math.nan])
    def test_revised_fitness_counts(self, name: str, truth: float) -> None:
        """After a revision the search continues as if the new fitness had been the first."""
        informed, revised = _config(name).new_strategy(), _config(name).new_strategy()
        candidates = informed.ask()
        assert candidates == revised.ask()
        fitness = [_distance(candidate.chromosome) for candidate in candidates]
        lucky = max(range(len(fitness)), key=fitness.__getitem__)
        informed.tell([*fitness[:lucky], truth, *fitness[lucky + 1 :]])
        revised.tell(fitness)
        revised.revise({candidates[lucky]: truth})
        assert informed.ask() == revised.ask()

    def test_global_random_numbers_are_left_alone(self, name: str) -> None:
        """A strategy neither draws from the global generators nor depends on them."""
        _generations(_config(name).new_strategy())  # imports libraries, which may draw
        state = _global_state()
        undisturbed = _generations(_config(name).new_strategy())
        assert state == _global_state()

        def disturb(chromosome: Chromosome) -> float:
            random.random()
            np.random.random()  # noqa: NPY002 - the global one is meant
            return _distance(chromosome)

        assert undisturbed == _generations(_config(name).new_strategy(), disturb)

    def test_equal_fitness(self, name: str) -> None:
        """With equal fitness everywhere, the search still runs to its end."""
        strategy = _config(name).new_strategy()
        generations = _generations(strategy, fitness=lambda _: 0.0)
        assert len(strategy.sizes) == len(generations)

    def test_generations_take_turns(self, name: str) -> None:
        """A generation cannot be requested before the fitness of the last one is given."""
        strategy = _config(name).new_strategy()
        strategy.ask()
        with pytest.raises(InputError, match="used by one search only"):
            strategy.ask()

    def test_every_candidate_needs_its_fitness(self, name: str) -> None:
        """Fitness for fewer or more candidates than proposed is refused."""
        strategy = _config(name).new_strategy()
        strategy.ask()
        with pytest.raises(ValueError, match="zip"):
            strategy.tell([0.0])

    def test_budget_below_the_population(self, name: str) -> None:
        """A budget below the first generation is refused."""
        with pytest.raises(InputError, match=r"^budget is 19; it must be at least the population"):
            _config(name, budget=19)

    def test_order_of_completion_does_not_matter(self, name: str, engine: Engine) -> None:
        """The number of jobs, and with it the order in which runs finish, changes nothing."""
        config = _config(name, budget=12, population=4)
        alone, together = (search(config, engine=engine, store=None, jobs=jobs) for jobs in (1, 8))
        assert_same(alone, together)
        assert config.planned == len(alone.experiments)

    def test_resumes(self, name: str, engine: ArithmeticEngine) -> None:
        """An interrupted and restarted search has the same result and repeats no run."""
        config = _config(name, budget=12, population=4)

        def stop(now: Progress) -> None:
            if now.tried == 7:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            search(config, engine=engine, jobs=1, on_progress=stop)
        resumed = search(config, engine=engine)
        unfinished = 1  # with one job, at most this many can be in progress when it is stopped
        assert len(engine.ran) <= len(set(engine.ran)) + unfinished
        assert_same(resumed, search(config, engine=engine, store=None))

    def test_failures_are_no_harm(self, name: str) -> None:
        """Scenarios whose experiments fail are never better than others."""
        strategy = _config(name, budget=120).new_strategy()

        def half_fails(chromosome: Chromosome) -> float:
            return math.nan if cast("float", chromosome[0]) > 100 else _distance(chromosome)

        proposed = [c for generation in _generations(strategy, half_fails) for c in generation]
        fast = [cast("float", c.chromosome[0]) > 100 for c in proposed]
        first, last = fast[:20], fast[-20:]
        if name in {"genetic", "halving", "surrogate"}:  # those that learn
            assert sum(last) < sum(first)
        assert sum(strategy.sizes) == len(proposed)

    def test_choices(self, name: str) -> None:
        """Genes without an order are varied too, and the best choice is found."""
        space = Space(
            (*DEFAULT_SPACE.genes, Choice(name="qdisc", values=("pie", "droptail", "codel")))
        )
        strategy = _config(name, space=space, budget=120).new_strategy()

        def better_with_pie(chromosome: Chromosome) -> float:
            return float(chromosome[-1] == "pie")

        proposed = [c for generation in _generations(strategy, better_with_pie) for c in generation]
        assert {"pie", "droptail", "codel"} == {c.chromosome[-1] for c in proposed}
        if name in {"genetic", "halving", "surrogate"}:
            pies = [c.chromosome[-1] == "pie" for c in proposed]
            assert sum(pies[-20:]) > 1.5 * sum(pies[:20])


class TestBeginning:
    @pytest.mark.parametrize("name", ["halving", "random", "surrogate"])
    def test_same_first_generation(self, name: str) -> None:
        """With the same seed strategies start from the same scenarios: the comparison is fair."""
        first, genetic = (_config(which).new_strategy().ask() for which in (name, "genetic"))
        assert genetic == first

    @pytest.mark.parametrize("name", ["genetic", "halving", "surrogate"])
    def test_stratified(self, name: str) -> None:
        """A stratified first generation has a scenario in each of as many bands of bandwidths."""
        first = _config(name, strategy_options={"initial": "stratified"}).new_strategy().ask()
        places = sorted(DEFAULT_SPACE.coordinates(c.chromosome)[0] for c in first)
        assert all(i / 20 - 1e-2 <= place <= (i + 1) / 20 + 1e-2 for i, place in enumerate(places))

    @pytest.mark.parametrize("name", ["genetic", "halving", "surrogate"])
    @pytest.mark.parametrize(("population", "expected"), [(20, 10), (100, 32)])
    def test_corners(self, name: str, population: int, expected: int) -> None:
        """Corners of the space come first: all of them, or half of the first generation."""
        config = _config(
            name, strategy_options={"corners": True}, population=population, budget=100
        )
        first = [candidate.chromosome for candidate in config.new_strategy().ask()]
        corners = set(DEFAULT_SPACE.corners())
        assert expected == len(corners & set(first[:expected])) == len(corners & set(first))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                {"strategy_options": {"initial": "stratifed"}},
                r"^strategy_options\.initial is 'stratifed'; .*: did you mean 'stratified'",
            ),
            (
                {"strategy_options": {"initial": "stratified"}, "name": "sweep"},
                r"^strategy_options\.initial is .* left out for strategy 'sweep'",
            ),
            (
                {"strategy_options": {"corners": True}, "name": "random"},
                "choose strategy genetic or halving or surrogate",
            ),
            (
                {"strategy_options": {"niching": "crowding"}, "name": "surrogate"},
                "choose strategy genetic",
            ),
            (
                {"strategy_options": {"niching": "crowd"}},
                r"niching is 'crowd'; .*: did you mean 'crowding'",
            ),
            ({"strategy_options": {"corners": 1}}, r"\.corners is 1; it must be true or false"),
            ({"strategy_options": {"nich": 1}}, "^strategy_options: nich is not a setting; did"),
            ({"strategy_options": 7}, "^strategy_options is 7; it must be a table"),
            ({"name": 7}, "^strategy is 7; it must be the name of a strategy"),
            ({"repeat": 0}, "^repeat is 0; it must be a whole number at least 1"),
            ({"confirm": 0}, "^confirm is 0; it must be a whole number at least 1"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """An initial generation that the strategy does not support is refused."""
        with pytest.raises(InputError, match=message):
            _config(**change)


def _example() -> str:
    """Return the example of the page, without the search at its end."""
    section = (DOCS / "raygen.md").read_text(encoding="utf-8").split("## A strategy of your own")[1]
    code = section.split("```python\n")[1].split("```")[0]
    return code[: code.index("raygen.search(")]


class TestOwn:
    @staticmethod
    def _climber(**changes: Any) -> Any:
        namespace: dict[str, Any] = {}
        exec(_example(), namespace)  # noqa: S102 - the page's own code
        settings = {"space": DEFAULT_SPACE, "sizes": [6, 4, 4], "seed": 1} | changes
        return namespace["HillClimbing"](**settings)

    def test_example(self, engine: Engine, tmp_path: Path) -> None:
        """The example of the page runs, is named in search.json, and resumes in its folder."""
        config = small()
        first = search(
            config, strategy=self._climber(), engine=engine, store=None, output_dir=tmp_path
        )
        assert (6, 4, 4) == tuple(first.experiments["generation"].value_counts().sort_index())
        assert "own:hill climbing, steps of 0.1" == first.config.strategy
        assert_same(first, SearchResult.load(tmp_path))
        again = search(
            config, strategy=self._climber(), engine=engine, store=None, output_dir=tmp_path
        )
        assert_same(first, again)

    def test_another_strategy_is_refused(self, engine: Engine, tmp_path: Path) -> None:
        """A folder is not continued by a strategy of another name or other generations."""
        search(small(), strategy=self._climber(), engine=engine, output_dir=tmp_path)
        other = self._climber()
        type(other).name = "hill climbing, steps of 0.2"
        for strategy, name in ((other, "strategy"), (self._climber(sizes=[6, 4]), "budget")):
            with pytest.raises(InputError, match=f"differs in {name}"):
                search(small(), strategy=strategy, engine=engine, output_dir=tmp_path)

    def test_outside_the_space(self, engine: Engine) -> None:
        """Proposals outside the space, incomplete ones, and wrong numbers are refused."""
        climber = self._climber()
        for chromosome, message in (
            ((1.0, 40.0, 1.0, 1, 1), r"^bandwidth_mbps is 1\.0; it must be a value of the gene"),
            ((40.0, 40.0), "^chromosome is .* of 5 values, one for each gene"),
        ):
            climber.propose = lambda size, value=chromosome: [(value, ())] * size
            with pytest.raises(InputError, match=message):
                search(small(), strategy=climber, engine=engine, store=None)
            climber = self._climber()
        climber.ask = lambda: [
            Candidate(number=1, generation=1, chromosome=(40.0, 40.0, 1.0, 1, 1))
        ]
        with pytest.raises(InputError, match=r"^number of a candidate is 1; it must be 0"):
            search(small(), strategy=climber, engine=engine, store=None)

    @pytest.mark.parametrize(
        ("proposals", "message"),
        [
            ([], "^size of a generation is 0; it must be 6: "),
            (
                [((40.0, 40.0, 1.0, 1, 1), (0,))] * 6,
                r"^parents of a candidate is \(0,\); .* below 0",
            ),
            ([(40.0, 40.0, 1.0, 1, 1)] * 6, "^proposal is .*; it must be a chromosome and the num"),
        ],
    )
    def test_bad_proposals(self, engine: Engine, proposals: Any, message: str) -> None:
        """Generations of another size, unknown parents and missing parents are refused."""
        climber = self._climber()
        climber.propose = lambda _: proposals
        with pytest.raises(InputError, match=message):
            search(small(), strategy=climber, engine=engine, store=None)

    def test_used_again(self, engine: Engine, tmp_path: Path) -> None:
        """A strategy that was used is refused, and the results in its folder stay."""
        climber, folder = self._climber(), tmp_path / "results"
        search(small(), strategy=climber, engine=engine, output_dir=folder)
        before = {path: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(InputError, match="create a new object for each search"):
            search(small(), strategy=climber, engine=engine, output_dir=folder)
        assert {path: path.read_bytes() for path in folder.iterdir()} == before

    def test_interrupted_strategy(self, engine: Engine) -> None:
        """A strategy whose search was interrupted is refused, too."""
        climber = self._climber()
        with pytest.raises(CcbenchError, match="out of luck"):
            search(small(), strategy=climber, engine=Breaks(engine, after=3), store=None)
        with pytest.raises(InputError, match=r"^strategy is 'hill.*create a new object for each"):
            search(small(), strategy=climber, engine=engine, store=None)

    @pytest.mark.parametrize(
        ("strategy", "settings", "message"),
        [
            (object(), {}, "^strategy is .*; it must be an object with name, sizes, ask, tell and"),
            (None, {"budget": 9}, "^setting is 'budget'; it must be left out with a strategy"),
            (None, {"strategy": "own:x"}, r"^strategy is 'own:x'; .*: pass the object itself"),
        ],
    )
    def test_bad_input(
        self, engine: Engine, strategy: Any, settings: dict[str, Any], message: str
    ) -> None:
        """Objects without the protocol and contradicting settings are refused in one line."""
        settings = {"alpha": "greedy", "beta": "even", "duration_s": 4} | settings
        settings = {"strategy": strategy or self._climber()} | settings
        with pytest.raises(InputError, match=message):
            search(engine=engine, store=None, **settings)

    def test_module_is_enough(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A module in the package's folder adds a strategy to searches, options and help."""
        (tmp_path / "hill.py").write_text(
            "from ccbench.base.settings import StrategySetting\n"
            "from ccbench.raygen.strategies.random import RandomSearch\n"
            "class STRATEGY(RandomSearch):\n"
            "    name, summary = 'hill', 'uphill only'\n"
            "    settings = (StrategySetting(name='step', default=0.1, help='Length.'),)\n"
            "    def __init__(self, space, *, step, **common):\n"
            "        super().__init__(space, **common)\n"
        )
        monkeypatch.setattr(strategies, "__path__", [*strategies.__path__, str(tmp_path)])
        monkeypatch.delitem(sys.modules, f"{strategies.__name__}.hill", raising=False)
        config = _config("hill", strategy_options={"step": 0.2})
        assert {"step": 0.2} == config.to_dict()["strategy_options"]
        shown = " ".join(CliRunner().invoke(program, ["raygen", "--help"]).output.split())
        assert "hill uphill only step=0.1 (a number): Length." in shown
        with pytest.raises(
            InputError, match=r"^strategy_options\.step is .* left out for strategy"
        ):
            _config(strategy_options={"step": 0.2})


@every_strategy
class TestUnknown:
    def test_unknown_strategy(self, name: str) -> None:
        """An unknown strategy is refused with the list of strategies and the nearest."""
        misspelt = name[:-1]
        message = rf"^strategy is '{misspelt}'; it must be one of .*{name}.*: did you mean '{name}'"
        with pytest.raises(InputError, match=message):
            _config(misspelt)

    def test_command(self, name: str) -> None:
        """The command reports an unknown strategy in one line."""
        options = ["--alpha", "bbr", "--beta", "cubic", "--strategy", f"{name}s"]
        result = CliRunner().invoke(program, ["raygen", *options])
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert 1 == len(result.stderr.splitlines())
        assert f"did you mean '{name}'" in result.stderr
