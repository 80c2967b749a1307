"""The registry of public sets: file, repository, licence, SHA-256, number of items. Knows no format, and downloads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from branchwise.errors import UnknownName, UsageError

__all__ = ["DATASETS", "DataSet", "data_file", "dataset", "where_more"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSet:
    """One file of a public repository, at one commit. `size` is in bytes; `file` is its place in a data folder, `folder/name`."""

    name: str
    about: str
    file: str
    repository: str
    commit: str
    path: str
    size: int
    items: int
    licence: str
    sha256: str

    @property
    def url(self) -> str:
        """Where the file is, at that commit."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    @property
    def places(self) -> tuple[str, ...]:
        """Where it may lie in a folder: in the folder of its set, or by its own name."""
        return (self.file, self.file.split("/")[-1])

    def path_in(self, folder: Path) -> Path | None:
        """The file in `folder`, in a folder of its set or by its own name (where that is the set's own folder); `None` where it is not."""
        kept = folder / self.file
        if kept.is_file():
            return kept
        inside = folder / self.file.split("/")[-1]
        return inside if folder.name == self.file.split("/")[0] and inside.is_file() else None


DATASETS = {
    entry.name: entry
    for entry in (
        DataSet(
            name="gsm8k",
            about="grade-school word problems",
            file="gsm8k/test.jsonl",
            items=1_319,
            size=749_738,
            licence="MIT",
            repository="openai/grade-school-math",
            commit="3101c7d5072418e28b9008a6636bde82a006892c",
            path="grade_school_math/data/test.jsonl",
            sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        ),
        DataSet(
            name="gsm_hard",
            about="the same with large numbers",
            file="gsm_hard/gsmhardv2.jsonl",
            items=1_319,
            size=1_138_151,
            licence="Apache-2.0",
            repository="reasoning-machines/pal",
            commit="f81ca2a9777f002f98a6b4d0f10b61bd5c8feb02",
            path="datasets/gsmhardv2.jsonl",
            sha256="2032b0188a49ac0ec38cbe1e695e7d62d6dddc44bbb64f920728aca710e9ddef",
        ),
        DataSet(
            name="svamp",
            about="one-step word problems, varied",
            file="svamp/SVAMP.json",
            items=1_000,
            size=339_970,
            licence="MIT",
            repository="arkilpatel/SVAMP",
            commit="689d7ccac74b9983a2ac7cc3b264f441b99e7c53",
            path="SVAMP.json",
            sha256="5be77703a6d891ae476d7c082787ad361392aa02453b132516cdd5f4e7934e3e",
        ),
        DataSet(
            name="strategyqa",
            about="yes/no questions that need several facts",
            file="strategyqa/dev.json",
            items=229,
            size=424_195,
            licence="MIT",
            repository="eladsegal/strategyqa",
            commit="1ba1e97452e189569357876f2854b01357ffbe37",
            path="data/strategyqa/dev.json",
            sha256="0d94842ffb022db8fd5ecd2168b785d5cf67f6faf64f665476bad544a3eb9dde",
        ),
        DataSet(
            name="math500",
            about="competition mathematics, five levels",
            file="math500/test.jsonl",
            items=500,
            size=446_564,
            licence="MIT",
            repository="hkust-nlp/simpleRL-reason",
            commit="cf1c7858bfc145a27aa733e75d930d34f0d318a6",
            path="examples/simplelr_math_eval/data/math500/test.jsonl",
            sha256="35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132",
        ),
        DataSet(
            name="aime24",
            about="AIME 2024",
            file="aime24/test.jsonl",
            items=30,
            size=156_944,
            licence="MIT; problems (c) MAA, local use only",
            repository="QwenLM/Qwen2.5-Math",
            commit="a45202bd16f1ec06f433442dc1152d0074773465",
            path="evaluation/data/aime24/test.jsonl",
            sha256="af2b8bd2aa911b6333ad0df32f3ca05c7ae8ed10f1731f4372c8ae26990bf7ac",
        ),
        DataSet(
            name="amc23",
            about="AMC 12 of 2023",
            file="aime24/amc23.jsonl",
            items=40,
            size=27_631,
            licence="MIT; problems (c) MAA, local use only",
            repository="QwenLM/Qwen2.5-Math",
            commit="a45202bd16f1ec06f433442dc1152d0074773465",
            path="evaluation/data/amc23/test.jsonl",
            sha256="43707e1ca784602d8479de24ee8ce36609dbebc46dd152b0b12a46611aa898a4",
        ),
        DataSet(
            name="olympiadbench",
            about="olympiad problems, open-ended, in English",
            file="olympiadbench/test.jsonl",
            items=675,
            size=1_493_870,
            licence="MIT",
            repository="QwenLM/Qwen2.5-Math",
            commit="a45202bd16f1ec06f433442dc1152d0074773465",
            path="evaluation/data/olympiadbench/test.jsonl",
            sha256="bb8c1e38a16ea9eacb77530315a674d883f267fbff79183effc53681b4fcc416",
        ),
        DataSet(
            name="odyssey",
            about="high school to university problems",
            file="odyssey_math/final-odyssey-math-with-levels.jsonl",
            items=387,
            size=394_689,
            licence="MIT",
            repository="protagolabs/odyssey-math",
            commit="fe9e83df06111728e1b06ddaee0a60837c07d6c9",
            path="final-odyssey-math-with-levels.jsonl",
            sha256="b3dab75dbfc9a07f1f6096e060790630cdff96a70e3adf92b692c9316294290a",
        ),
        DataSet(
            name="game24",
            about="hands with ranks by solving time of people",
            file="game24/24.csv",
            items=1_362,
            size=48_235,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="src/tot/data/24/24.csv",
            sha256="b9f12b3e36d987a3c714c4cef17d89a137d7c59da26532fcfb93b4821d8111b5",
        ),
        DataSet(
            name="game24_log",
            about="published GPT-4 beam search, ranks 901 to 1000",
            file="game24/gpt4_tot_log_900_1000.json",
            items=100,
            size=1_558_836,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="logs/game24/gpt-4_0.7_propose1_value3_greedy5_start900_end1000.json",
            sha256="e08f019024c99e83e540f8feec99acf619f30b0cf047278a03f62ff45888571b",
        ),
        DataSet(
            name="crosswords",
            about="5x5 crosswords",
            file="crosswords/mini0505.json",
            items=156,
            size=134_771,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="src/tot/data/crosswords/mini0505.json",
            sha256="50590d5886fac5e0971f483df93668a8f3c638d8312a490655b869a93d569154",
        ),
        DataSet(
            name="crosswords_log",
            about="published GPT-4 depth-first search",
            file="crosswords/infoss_dfs_prune.json",
            items=20,
            size=396_937,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="logs/crosswords/infoss_dfs_prune.json",
            sha256="72e8590e730454eb76e0c07673c568ababd669e40200cdf3478718fcd708e50e",
        ),
        DataSet(
            name="writing",
            about="four sentences an input",
            file="creative_writing/data_100_random_text.txt",
            items=100,
            size=27_669,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="src/tot/data/text/data_100_random_text.txt",
            sha256="830b2fce4b217c13e9211e9ccf698ea5fa65a7980168180c9b2dfa661bdc4098",
        ),
        DataSet(
            name="writing_log",
            about="published GPT-4 plans, passages and votes",
            file="creative_writing/gpt4_tot_log_0_100.json",
            items=100,
            size=1_911_161,
            licence="MIT",
            repository="princeton-nlp/tree-of-thought-llm",
            commit="ab400345c5ea39d28ea6d7d3be0e417b11113c87",
            path="logs/text/gpt-4_1.0_generate_sample_select_greedy_sample5_start0_end100.json",
            sha256="4274c1ff4232b63fe25b6127b1c3319573ba6aed16d2d7d003228934ecc7c96b",
        ),
        DataSet(
            name="prontoqa",
            about="deductions over made-up words",
            file="prontoqa/dev.json",
            items=500,
            size=483_050,
            licence="MIT",
            repository="teacherpeterpan/Logic-LLM",
            commit="d29f1e5e7203e8826cb9c41ba3003e43dc0b9d34",
            path="data/ProntoQA/dev.json",
            sha256="2d2e9d0adbef05cd66b51d11516b8fb3d3fb2cbc1664867d1123a000f7b11a5f",
        ),
        DataSet(
            name="blocksworld",
            about="block stacking with optimal plans",
            file="blocksworld/info.json",
            items=501,
            size=173_012,
            licence="MIT",
            repository="karthikv792/LLMs-Planning",
            commit="b008bc4327112affd525035b9e82f93f54b9b3a3",
            path="llm_planning_analysis/instances/blocksworld/info.json",
            sha256="d8b85044184498b0468675d4fe9a9dfaecf59eeac29362c4cc3b5812d5a307bb",
        ),
    )
}
"""Every public set by name. Those named like a task are its data; the logs are published runs."""


def dataset(name: str) -> DataSet:
    """The set of that name, in any case. Raises `UnknownName`."""
    found = DATASETS.get(name.lower())
    if found is None:
        raise UnknownName("data set", name, DATASETS)
    return found


def data_file(name: str, data: Path) -> Path:
    """The file of a task's set, given that file or a folder that holds it. Raises `UsageError`."""
    if not data.is_dir():
        return data
    entry = DATASETS.get(name)
    path = None if entry is None else entry.path_in(data)
    if path is None:
        wanted = "it has no public set" if entry is None else f"looked for {entry.file}; get it with: branchwise data pull {name}"
        raise UsageError(f"the folder {data} does not hold the data of task {name}: {wanted}")
    return path


def where_more(task: str, data: Path | None) -> str:
    """The end of an error message about items that a task's own list does not have: how to get the public set. Empty where it is in use."""
    entry = DATASETS.get(task)
    if data is not None or entry is None:
        return ""
    return (
        f". This is the list that comes with the program; the public set has {entry.items:,}: branchwise data pull {task}, "
        f'then --data "$(branchwise data path {task})"'
    )
