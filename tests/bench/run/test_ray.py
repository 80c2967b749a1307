"""A bench on a Ray cluster of two nodes: the same rows as on one machine, whoever dies; one budget and one rate over all workers."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from branchwise.bench.desk import Desk
from branchwise.bench.grid import Grid, Route
from branchwise.bench.models import route_opened
from branchwise.bench.purse import Sum, drain
from branchwise.bench.ray_runner import Cluster, run_on_cluster
from branchwise.bench.ray_worker import Job
from branchwise.bench.rows import ROWS, Row, read_rows
from branchwise.bench.runner import Events, run_here
from branchwise.budget import Budget, Price
from branchwise.cli.main import cli
from branchwise.model.registry import open_model
from branchwise.solve import Stop
from support.bench_grid import grid
from support.bench_server import ModelServer, serving
from support.program import end_children, lines, spawn, wait_for

FREE = Price(0.0, 0.0, 0.0)
MEMORY = 80 * 2**20
pytestmark = pytest.mark.timeout(900)  # a node or a worker starts in some 20 seconds on two busy cores, and ten workers are killed one by one


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Any, Any]]:
    """Ray and a cluster of two nodes on this machine."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr("ray._private.services.get_node", patient(ray._private.services.get_node))
        found = Nodes(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY}
        )
        found.add_node(num_cpus=1, object_store_memory=MEMORY)
        ray.init(address=found.address, log_to_driver=False, logging_level="ERROR")
    yield ray, found
    ray.shutdown()
    found.shutdown()


def patient(get_node: Callable[..., Any]) -> Callable[..., Any]:
    """Ray gives a node 30 seconds to start, which two busy cores do not always keep: ask for it again for up to two minutes."""

    def get(*arguments: Any) -> Any:
        until = time.monotonic() + 120
        while True:
            try:
                return get_node(*arguments)
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    return get


@pytest.fixture
def servers() -> Iterator[list[ModelServer]]:
    with serving(2) as found:
        yield found


def made(servers: list[ModelServer], **top: Any) -> Grid:
    model = {"label": "m", "model": [f"{server.url}/v1#noisy" for server in servers]}
    methods = ["io", "cot_sc?k=3", "refine?rounds=2", "tot_bfs"]
    return grid(**{"tasks": [{"task": "gsm8k", "items": "1:5"}], "methods": methods, "models": [model], **top})


def job(of: Grid, limited: bool = False) -> Job:
    data = {task: one["sha256"][:16] for task, one in of.data.items()}
    return Job(contestants={one.label: one for one in of.spec.models}, prices={"m": FREE}, parallel=4, limited=limited, data=data)


def on_ray(
    of: Grid, folder: Path, ray: Any, limits: Budget | None = None, then: Callable[[Cluster, Row], Any] | None = None, force: bool = False,
    **settings: Any,
) -> tuple[list[Row], str]:
    """Rows, and the limit that is used up. `then` is called with the cluster after each row."""
    clusters: list[Cluster] = []

    async def go() -> tuple[list[Row], str]:
        tasks = []

        def row(one: Row) -> None:
            if then is not None:
                tasks.append(asyncio.ensure_future(then(clusters[0], one)))

        with Desk(of, folder, force=force) as desk:
            budget = limits or Budget()
            limited = bool(budget.to_json()) or "calls_per_minute" in settings
            empty = await run_on_cluster(
                desk, ray, job(of, limited), budget, workers=2, jobs=3, events=Events(row), on_cluster=clusters.append, **settings
            )
            await asyncio.gather(*tasks)
            return list(desk.done.values()), empty

    return asyncio.run(go())


def here(of: Grid, folder: Path) -> list[Row]:
    """The same on this machine."""
    contestants = {one.label: one for one in of.spec.models}

    async def go() -> list[Row]:
        with Desk(of, folder) as desk:
            stop = Stop()
            purse = desk.purse(Budget())

            def opened(route: Route) -> AbstractAsyncContextManager[Any]:
                return route_opened(route, contestants, open_model, purse, FREE, lambda: drain(stop), parallel=4)

            await run_here(desk, opened, lambda route: FREE, jobs=6, parallel=4, stop=stop)
            return list(desk.done.values())

    return asyncio.run(go())


def alike(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows without the clock, by unit."""
    return sorted(({**row.to_json(), "seconds": 0.0} for row in rows), key=lambda row: str(row["unit"]))


def report(folder: Path) -> str:
    """The report without the clock; it does not name the folder."""
    said = CliRunner().invoke(cli, ["bench", "report", str(folder), "--json", "--no-clock"])
    assert said.exit_code in (0, 1), said.output
    return said.stdout.replace(str(folder), "DIR")


def test_the_rows_are_those_of_one_machine_and_ten_killed_workers_lose_and_double_nothing(
    nodes: tuple[Any, Any], servers: list[ModelServer], tmp_path: Path
) -> None:
    ray, _ = nodes
    of = made(servers, equal={"by": "calls", "amount": 6}, tasks=[{"task": "gsm8k", "items": "1:10"}])
    whole = here(of, tmp_path / "here")
    alone, asked, killed = sum(server.samples for server in servers), list[int](), list[int]()
    assert all(server.samples > alone * 0.25 for server in servers), "balanced by load"

    async def kill(cluster: Cluster, row: Row) -> None:
        """The process of the oldest worker that lives, by its id, after the second row and each third one from there, ten times."""
        place = len(asked)
        if place < 10 and len(read_rows(tmp_path / "ray")) >= 2 + 3 * place:
            asked.append(place)
            oldest = cluster.workers[place]
            pid = await oldest.handle.pid.remote()
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    rows, empty = on_ray(of, tmp_path / "ray", ray, then=kill)
    assert len(set(killed)) == 10
    assert empty == ""
    assert alike(rows) == alike(whole)
    assert report(tmp_path / "ray") == report(tmp_path / "here")
    assert (tmp_path / "ray" / ROWS).read_bytes().count(b"\n") == len(of.units)
    paid = sum(server.samples for server in servers) - alone
    assert alone <= paid <= alone + 10 * 4 * 3, "a kill loses at most what was in flight: four requests of up to three samples"
    names = [sorted(path.name for path in (tmp_path / where / "traces").glob("*.jsonl")) for where in ("here", "ray")]
    assert names[0] == names[1], "every trace is at home"
    assert alike(here(of, tmp_path / "ray")) == alike(whole), "a folder goes on anywhere"


def test_a_budget_and_a_rate_of_the_whole_hold_over_all_workers(nodes: tuple[Any, Any], servers: list[ModelServer], tmp_path: Path) -> None:
    ray, _ = nodes
    of = made(servers, methods=["io", "cot_sc?k=3"], tasks=[{"task": "gsm8k", "items": "1:10"}])
    told: list[Sum] = []
    rows, empty = on_ray(of, tmp_path, ray, Budget(calls=25), calls_per_minute=600, totals=told.append)
    given = sum(server.samples for server in servers)
    assert empty == "calls"
    assert 22 <= given == told[-1].calls <= 25
    assert len(rows) < len(of.units)
    times = sorted((at, n) for server in servers for at, n in server.times)
    assert times[-1][0] - times[0][0] >= (given - times[-1][1]) * 0.1 - 0.3, "ten calls a second"
    rows, empty = on_ray(of, tmp_path, ray, Budget(calls=10_000))
    assert empty == ""
    with Desk(of, tmp_path) as desk:
        assert desk.spent().calls == sum(row.usage["calls"] for row in rows) == sum(server.samples for server in servers) == 40
    rows, empty = on_ray(made(servers, methods=["io"], seeds=[1]), tmp_path, ray, Budget(calls=40), force=True)
    assert (rows, empty) == ([], "calls"), "what was paid for rows that are set aside counts"
    assert sum(server.samples for server in servers) == 40


def test_the_command_runs_on_a_cluster_and_goes_on_when_it_was_killed(
    nodes: tuple[Any, Any], servers: list[ModelServer], tmp_path: Path
) -> None:
    model = "m=" + "|".join(f"{server.url}/v1#noisy" for server in servers)
    methods = "io,cot_sc?k=2,tot_bfs"
    command = ["bench", "run", "--tasks", "gsm8k", "--methods", methods, "--items", "1:6", "--models", model, "--equal", "calls=6"]
    on_cluster = [*command, "--out", str(tmp_path / "ray"), "--workers", "2", "--jobs", "2"]
    child = spawn(*on_cluster, "--ray", nodes[1].address)
    wait_for(lambda: len(lines(tmp_path / "ray" / ROWS)) >= 3 or child.poll() is not None, 200)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    had = len(lines(tmp_path / "ray" / ROWS))
    assert 3 <= had < 18
    said = CliRunner().invoke(cli, [*on_cluster, "--ray", "auto"])
    assert said.exit_code == 0, said.output
    assert f"{had} units of 18 have a row already" in said.stderr
    again = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "here"), "--quiet"])
    assert again.exit_code == 0, again.output
    assert alike(read_rows(tmp_path / "ray")) == alike(read_rows(tmp_path / "here"))
    end_children()


def test_a_node_that_goes_away_takes_nothing_with_it(nodes: tuple[Any, Any], servers: list[ModelServer], tmp_path: Path) -> None:
    """The last test: the cluster has one node afterwards."""
    ray, cluster_of_nodes = nodes
    of = made(servers, methods=["io", "tot_bfs"])
    gone: list[Any] = []

    async def remove(cluster: Cluster, row: Row) -> None:
        if not gone:
            gone.extend(cluster_of_nodes.worker_nodes)
            await asyncio.to_thread(cluster_of_nodes.remove_node, gone[0], False)

    rows, _ = on_ray(of, tmp_path / "ray", ray, then=remove)
    assert gone
    assert alike(rows) == alike(here(of, tmp_path / "here"))
