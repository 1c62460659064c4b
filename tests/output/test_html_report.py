"""`seismo report` writes one HTML file that refers to nothing outside of it."""

import re
from html.parser import HTMLParser

import pytest

from seismo.output.figures import KINDS
from seismo.output.html_report import html_report
from seismo.output.results import open_results
from synthetic_results import write_elastic_2d


class Reader(HTMLParser):
    """Collects tags with their attributes, and checks that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.links, self.headings = [], [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "r.h5"
    write_elastic_2d(path)
    return path


def test_the_report_is_one_file_with_every_part(path, tmp_path, command_line, monkeypatch):
    drawn = {name: KINDS[name] for name in ("traces", "gather", "snapshot", "movie")}
    monkeypatch.setattr("seismo.output.html_report.KINDS", drawn)
    monkeypatch.setattr("seismo.output.html_report._DPI", 30)
    code, out, _ = command_line("report", path, "--output", tmp_path / "page.html")
    assert code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert out == f"{tmp_path / 'page.html'}\n"
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.headings == [
        "Expected accuracy", "Run", "Figures", "Scenario", "Resources", "Provenance",
    ]  # fmt: skip
    assert len(reader.links) == 3  # a movie is no figure
    assert all(link.startswith("data:image/png;base64,") for link in reader.links)


@pytest.mark.parametrize("name", ["r.h5", "scenario.yaml", "page"])
def test_files_that_are_no_reports_are_not_lost(name, path, tmp_path, command_line):
    kept = tmp_path / name
    kept.write_bytes(path.read_bytes())
    code, _, err = command_line("report", path, "--output", kept)
    assert code == 2
    assert err.endswith(f"{kept}: a report is an HTML file; call it {kept.stem}.html\n")
    assert kept.read_bytes() == path.read_bytes()


def test_what_a_file_says_is_no_markup(path, monkeypatch):
    from seismo.output.results import Results

    monkeypatch.setattr(Results, "title", "<script>alert(1)</script>")
    monkeypatch.setattr("seismo.output.html_report._figures", lambda results: [])
    with open_results(path) as results:
        text = html_report(results)
    assert "<script" not in text
    assert re.search(r"<title>&lt;script&gt;", text)


def test_numbers_and_gaps_are_readable(path, monkeypatch):
    from seismo.output.results import Results

    facts = {"commit": None, "seconds": 1.2345678901, "threads": 4, "ends": [0.1, None]}
    monkeypatch.setattr(Results, "provenance", facts)
    monkeypatch.setattr("seismo.output.html_report._figures", lambda results: [])
    with open_results(path) as results:
        text = html_report(results)
    for name, shown in (
        ("commit", "not recorded"), ("seconds", "1.23457"), ("threads", "4"),
        ("ends", "0.1, not recorded"),
    ):  # fmt: skip
        assert f"<td>{name}</td><td>{shown}</td>" in text
