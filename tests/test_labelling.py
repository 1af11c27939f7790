"""Labels with few looks: held equal to a plain replay, looks counted."""

import collections
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import InputError, UsageError
from samehand.methods.labelling import NO_GROUP, KnownAnswers, LabelCounts, Labelling, Question, answer_of

World = list[tuple[int, int]]
"""Group and digest of each page."""


def labelling_of(world: World, seed: int = 0, first_id: int = 100) -> Labelling:
    groups, digests = [group for group, _ in world], [digest for _, digest in world]
    page_ids = np.arange(first_id, first_id + len(world))
    urls = [f"http://www.site{place}.com/" for place in range(len(world))]
    return Labelling(page_ids, np.array(groups, np.int64), identical=digests, urls=urls, seed=seed)


def shown(labelling: Labelling) -> dict[int, tuple[str, str]]:
    return {row["page_id"]: (row["label"], row["how"]) for row in labelling.labels().to_pylist()}


def replayed(world: World, answers: list[tuple[int, str]], first_id: int = 100) -> dict[int, tuple[str, str]]:
    """The rule in plain words, from the first answer on."""
    labels: dict[int, tuple[str, str]] = {}
    said: dict[int, list[str]] = collections.defaultdict(list)
    looks: dict[int, int] = collections.defaultdict(lambda: 2)
    for page_id, label in answers:
        group, digest = world[page_id - first_id]
        alone = group == NO_GROUP
        members = [first_id + place for place, (other, _) in enumerate(world) if other == group and not alone]
        for place, (_, other) in enumerate(world):
            if other == digest and labels.get(first_id + place, ("", ""))[1] != "asked":
                labels[first_id + place] = (label, "identical")
        labels[page_id] = (label, "asked")
        key = -1 - page_id if alone else group
        said[key].append(label)
        if len(set(said[key])) > 1:
            said[key], looks[key] = [], 2 * looks[key]
            for member in members:
                if labels.get(member, ("", ""))[1] == "group":
                    del labels[member]
        elif len(said[key]) >= looks[key]:
            for member in members:
                labels.setdefault(member, (label, "group"))
    return labels


WORLDS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), min_size=1, max_size=16)


@given(WORLDS, st.data())
def test_answers_in_any_order_are_as_the_plain_rule_has_it(world: World, data: st.DataObject) -> None:
    labelling = labelling_of(world)
    answers: list[tuple[int, str]] = []
    for _ in range(data.draw(st.integers(0, 12))):
        free = [page for page in range(100, 100 + len(world)) if shown(labelling).get(page, ("", ""))[1] != "asked"]
        if not free:
            break
        answers.append((data.draw(st.sampled_from(free)), data.draw(st.sampled_from(["spam", "ok"]))))
        labelling.answer(*answers[-1])
        assert shown(labelling) == replayed(world, answers)
        again = labelling_of(world)
        for answer in answers:
            again.answer(*answer)
        assert again.ask() == labelling.ask()


@given(WORLDS, st.integers(0, 5), st.data())
def test_every_page_ends_with_a_label(world: World, seed: int, data: st.DataObject) -> None:
    truth = data.draw(st.lists(st.sampled_from(["spam", "ok"]), min_size=len(world), max_size=len(world)))
    labelling = labelling_of(world, seed)
    asked = []
    while question := labelling.ask():
        assert question == labelling.ask()
        assert question.page_id not in shown(labelling)
        asked.append(question.page_id)
        labelling.answer(question.page_id, truth[question.page_id - 100])
    assert set(shown(labelling)) == set(range(100, 100 + len(world)))
    counts = labelling.counts()
    assert counts.looks == counts.asked == len(asked) == len(set(asked))
    assert (counts.open, counts.pages) == (0, len(world))


def test_pure_groups_take_two_looks_and_copies_one() -> None:
    copies = [(0, 0)] * 50
    similar = [(1, 1 + place) for place in range(200)]
    singles = [(NO_GROUP, 1000 + place) for place in range(7)]
    labelling = labelling_of(copies + similar + singles)
    while question := labelling.ask():
        labelling.answer(question.page_id, "spam" if question.group == 1 else "ok")
    assert labelling.counts() == LabelCounts(257, 10, 49, 198, 10, 0, 0)
    assert shown(labelling)[160][0] == "spam"


def test_the_second_look_follows_at_once_and_is_not_identical() -> None:
    world = [(0, place // 10) for place in range(40)] + [(1, 100 + place) for place in range(40)]
    for seed in range(20):
        labelling = labelling_of(world, seed)
        first = labelling.ask()
        assert first is not None
        labelling.answer(first.page_id, "spam")
        second = labelling.ask()
        assert second is not None
        assert second.group == first.group
        assert world[second.page_id - 100][1] != world[first.page_id - 100][1]


def test_a_group_known_to_be_mixed_is_asked_page_by_page() -> None:
    """Half of a group is spam: asked in twos for ever, half of it would soon have its label by luck."""
    wrong = pages = 0
    for seed in range(40):
        labelling = labelling_of([(0, place) for place in range(200)], seed)
        answers: list[bool] = []
        while question := labelling.ask():
            answers.append(bool(question.page_id % 2))
            labelling.answer(question.page_id, str(answers[-1]))
        if answers[0] != answers[1]:
            pages += 200
            wrong += sum(label != str(bool(page_id % 2)) for page_id, (label, _) in shown(labelling).items())
    assert pages >= 2000
    assert wrong / pages < 0.1


def test_a_late_answer_takes_a_groups_label_back() -> None:
    labelling = labelling_of([(0, place) for place in range(10)])
    labelling.answer(100, "ok")
    labelling.answer(101, "ok")
    assert labelling.ask() is None
    labelling.answer(105, "spam")
    assert shown(labelling) == {100: ("ok", "asked"), 101: ("ok", "asked"), 105: ("spam", "asked")}
    assert labelling.counts().disagreements == 1


def test_the_seed_decides_what_is_asked() -> None:
    world = [(place % 5, place) for place in range(100)]

    def first(seed: int) -> Question | None:
        return labelling_of(world, seed).ask()

    assert first(1) == first(1)
    assert len({first(seed) for seed in range(10)}) > 5


def test_what_cannot_be_answered() -> None:
    labelling = labelling_of([(0, 0), (0, 1)])
    labelling.answer(100, "a few words")
    with pytest.raises(UsageError, match="undo that answer first"):
        labelling.answer(100, "ok")
    with pytest.raises(UsageError, match="no page 7"):
        labelling.answer(7, "ok")
    for word in ("", " ", "reel", "a\nb", "x" * 101, "a\x1bb"):
        with pytest.raises(UsageError, match="is no label"):
            answer_of(word)
    assert answer_of("real") == ("wanted", "real")
    assert answer_of("unwanted") == ("unwanted", "")
    with pytest.raises(UsageError, match="differ in number"):
        Labelling(np.arange(2), np.arange(3), identical=[1, 2])
    with pytest.raises(UsageError, match="twice"):
        Labelling(np.zeros(2, np.int64), np.arange(2), identical=[1, 2])


MIXED = [(0, 0), (0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (NO_GROUP, 5), (2, 6), (2, 6)]


@pytest.mark.parametrize(
    "text",
    [
        "page_id,label\n" + "".join(f"{100 + place},{'spam' if place < 4 else 'ok'}\n" for place in range(9)),
        "\ufeffurl,label\r\n"
        + "".join(f"http://www.site{place}.com/,{'spam' if place < 4 else 'ok'}\r\n" for place in range(9)),
        "label,site\n" + "\n".join(f"{'spam' if place < 4 else 'ok'},Site{place}.com" for place in range(9)),
    ],
)
def test_known_answers_are_found_by_id_url_or_site(text: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode())
    labelling, known = labelling_of(MIXED), KnownAnswers.read(path)
    while question := labelling.ask():
        labelling.answer(question.page_id, known.label_of(question) or "")
    assert {page: label for page, (label, _) in shown(labelling).items()} == {
        100 + place: "spam" if place < 4 else "ok" for place in range(9)
    }
    assert labelling.counts().looks < 9


def test_files_without_answers_are_told(tmp_path: Path) -> None:
    known = KnownAnswers([{"page_id": "101", "label": "spam"}, {"page_id": "101", "label": "ok"}, {"label": "x"}])
    assert known.conflicts == 1
    assert known.label_of(Question(101, 0, "http://a/")) == "ok"
    assert known.label_of(Question(100, 0, "http://a/")) is None
    for content in ("", "label\nx\n", "url,site\n"):
        (tmp_path / "labels.csv").write_text(content)
        with pytest.raises(InputError, match="has no answers"):
            KnownAnswers.read(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="cannot be read"):
        KnownAnswers.read(tmp_path / "absent.csv")


def test_skipped_pages_are_not_asked_for_but_may_get_labels() -> None:
    labelling = labelling_of([(0, 0), (0, 1), (0, 2)])
    first = labelling.ask()
    assert first is not None
    labelling.skip(first.page_id)
    while question := labelling.ask():
        assert question.page_id != first.page_id
        labelling.answer(question.page_id, "ok")
    assert shown(labelling)[first.page_id] == ("ok", "group")
