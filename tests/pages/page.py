"""A page as tests read it."""

import re
from html import unescape
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a test asks of a page: its elements with their attributes, and the text of headings and links."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.html = [], html
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self):
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.html)).split())

    def heading(self):
        return unescape(re.search(r'<h1 id="said">(.*?)</h1>', self.html, re.S).group(1))

    def tables(self):
        rows = re.findall(r"<tr[^>]*>(.*?)</tr>", self.html, re.S)
        return [[" ".join(unescape(re.sub(r"<[^>]+>", " ", cell)).split())
                 for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in rows]  # fmt: skip
