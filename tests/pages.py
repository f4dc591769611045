"""A page as a browser would read it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags with their attributes, and text."""

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.tags, self.words = [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)

    def attributes(self, tag):
        return [attributes for found, attributes in self.tags if found == tag]
