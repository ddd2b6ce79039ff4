"""Texts of the user's data are shown as they are, and never become part of a page."""

import json
import threading
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.explore.explorer import Explorer
from cqrf.app.explore.server import ExploreServer
from cqrf.app.report.markup import Markup, element
from cqrf.datasets import make_aft

# They end a script, a tag, an attribute, an option; and would be filled in by a template.
ATTACKS = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'><svg onload=alert(3)>",
    "</option></select><iframe src=//evil.example>",
    "{{ 7 * 191 }}{% raise %}<!--",
]


class Elements(HTMLParser):
    """Tags and attributes of a page, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = [], set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.texts += [value for _, value in attrs if value]

    def handle_data(self, data):
        self.texts.append(data)


def check(page, shown=ATTACKS, scripts=0):
    """Nothing of a text has become an element, and every text can be read."""
    found = Elements(page)
    assert found.tags.count("script") == scripts
    assert not {"img", "iframe"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on")]
    assert "<!--" not in page.replace("&lt;!--", "")
    assert "1337" not in page
    text = "\n".join(found.texts)
    assert [attack for attack in shown if attack not in text] == []


def hostile():
    data = make_aft(80, n_features=5, random_state=0)
    X = pd.DataFrame(data.X, columns=ATTACKS)
    X["kind"] = pd.Series(ATTACKS, dtype=object)[np.arange(80) % len(ATTACKS)].to_numpy()
    X.iloc[::3, 0] = np.nan
    forest = CensoredQuantileForest(30, random_state=0, n_jobs=2)
    return forest.fit(X, data.time, data.event), X, data.time, data.event


@pytest.fixture(scope="module")
def case():
    return hostile()


@pytest.mark.parametrize("attack", ATTACKS)
def test_report(case, attack):
    report = case[0].report(*case[1:], title=attack, time_name=attack)
    check(report.html, scripts=1)
    frame = Elements(report._repr_html_())
    assert frame.tags == ["iframe"]
    assert report.html in frame.texts


def test_values_in_the_tables_of_a_report(case):
    page = case[0].report(*case[1:]).html
    heads = [unescape(head.split("</th>")[0]) for head in page.split('<th scope="row">')[1:]]
    for attack in ATTACKS:
        # Once as a feature, once as a category.
        assert heads.count(attack) >= 2
        assert attack not in page


@pytest.mark.parametrize("attack", ATTACKS)
def test_explore(case, attack):
    explorer = Explorer(case[0], attack, attack, 1 << 20)
    page = explorer.page("nonce")
    check(page, scripts=1)
    row = [control.value for control in explorer.controls]
    check(explorer.answer({"values": row, "pinned": row})["figure"], [attack])


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_table_that_is_scored(case, attack):
    from urllib.parse import quote
    from urllib.request import urlopen

    forest, X, *_ = case
    table = X[:5].assign(**{f"more {attack}": attack}).to_csv(index=False).encode()
    with ExploreServer(Explorer(forest, "m", None, 1 << 20)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with urlopen(f"{server.url}score?name={quote(attack)}", table) as response:
            answer = json.load(response)
        server.shutdown()
    check(answer["preview"], [*ATTACKS, f"First rows of {attack}"])


def test_notebook(case):
    forest, X, *_ = case
    bundle = forest._repr_mimebundle_()["text/html"]
    for attack in ATTACKS[:4]:
        assert attack not in bundle
    assert "<img" not in forest.explain(X.iloc[:1])._repr_html_()


def test_elements_escape_all_but_markup():
    inner = element("b", "<&>")
    assert inner == "<b>&lt;&amp;&gt;</b>"
    assert element("g", inner, "<", data_tip='"<', x=1.25, fill=None) == Markup(
        '<g data-tip="&#34;&lt;" x="1.2"><b>&lt;&amp;&gt;</b>&lt;</g>'
    )
