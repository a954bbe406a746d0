"""Shows a finding to people: the pair as data, in a sentence, and as a card in HTML."""

__all__: list[str] = []
