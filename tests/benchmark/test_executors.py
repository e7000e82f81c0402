"""Executors: the same results wherever runs are executed, and one that fails leaves the others alone."""

import json
from dataclasses import asdict

import pytest
import tiny

from heliotrope.benchmark.executors import FAILURE, Ending, Job, LocalExecutor, read_failure
from heliotrope.benchmark.runs import RESULT, RunSpec
from heliotrope.benchmark.suites import Size

SUITE = tiny.suite()


def good(agent="random", seed=0):
    return RunSpec("FoodDrinkBounded", agent, seed=seed, settings=tiny.SETTINGS, episodes=2)


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    for workers in (1, 2):
        with LocalExecutor(workers) as executor:
            outcomes = tiny.execute(tmp_path / str(workers), SUITE, executor)
        assert {outcome.ending for outcome in outcomes.values()} == {Ending.DONE}
    tiny.execute(tmp_path / "inline", SUITE, tiny.Inline())
    assert tiny.results(tmp_path / "1") == tiny.results(tmp_path / "2") == tiny.results(tmp_path / "inline")


def test_failing_runs_and_dying_processes_leave_the_others_alone(tmp_path):
    described = asdict(good())
    specs = [good(), tiny.Deadly(**described), tiny.Diverging(**described), good(seed=1), good("oracle")]
    jobs = [Job(spec, tmp_path / str(index)) for index, spec in enumerate(specs)]
    seen = []
    with LocalExecutor(1) as executor:
        outcomes = executor.run(jobs, lambda index, news: seen.append((index, news)))
    assert [outcome.ending for outcome in outcomes] == [
        Ending.DONE,
        Ending.FAILED,
        Ending.FAILED,
        Ending.DONE,
        Ending.DONE,
    ]
    assert outcomes[1].error == "the worker process ended with status 3"
    assert not outcomes[1].repeatable
    assert outcomes[2].error == "RuntimeError: the parameters diverged"
    assert outcomes[2].repeatable
    assert [(index, news) for index, news in seen if news in outcomes] == list(enumerate(outcomes))
    for index in (1, 2):
        assert read_failure(tmp_path / str(index)) == outcomes[index].error
        assert not (tmp_path / str(index) / RESULT).exists()
    assert "Traceback" in json.loads((tmp_path / "2" / FAILURE).read_text())["details"]


def test_a_run_that_succeeds_at_last_forgets_its_failure(tmp_path):
    executor = tiny.Inline()
    executor.run([Job(tiny.Diverging(**asdict(good())), tmp_path)])
    assert read_failure(tmp_path) is not None
    executor.run([Job(good(), tmp_path)])
    assert read_failure(tmp_path) is None
    assert (tmp_path / RESULT).exists()


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_must_be_positive(workers):
    with pytest.raises(ValueError, match=f"workers must be at least 1, got {workers}"):
        LocalExecutor(workers)


@pytest.mark.slow
def test_a_ray_cluster_of_two_nodes_gives_the_same_results(tmp_path):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    from heliotrope.benchmark.executors import RayExecutor

    tiny.execute(tmp_path / "local", SUITE, tiny.Inline())
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        with RayExecutor(cluster.address) as executor:
            outcomes = tiny.execute(tmp_path / "ray", SUITE, executor)
            assert sum(node["Alive"] for node in ray.nodes()) == 2
            failing = Job(RunSpec("FoodDrinkBounded", "random", settings={"level": 99}), tmp_path / "failing" / "run")
            assert executor.run([failing])[0].ending is Ending.FAILED
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert len(outcomes) == len(SUITE.plan(Size.QUICK))
    assert {outcome.ending for outcome in outcomes.values()} == {Ending.DONE}
    assert tiny.results(tmp_path / "ray") == tiny.results(tmp_path / "local")
