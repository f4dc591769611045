"""The parsed HTML of a page, for tests."""

from html.parser import HTMLParser


class ParsedPage(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.tags, self.texts = [], []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)

    def attributes(self, tag):
        return [attributes for found, attributes in self.tags if found == tag]
