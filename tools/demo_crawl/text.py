"""Words for the demo crawl: a sentence grammar and keyword phrases.

The words come from short lists and the sentences from patterns, so that every page has text of its own without any
text taken from elsewhere. Punctuation is varied on purpose: it is what is left of prose in the noise of a page.
"""

import random
import re
from dataclasses import dataclass


def words(text: str) -> tuple[str, ...]:
    """Word lists are easier to read and to change as one line of text."""
    return tuple(text.split())


_SLOT = re.compile(r"\{(\w+)\}")
_A_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeio])")
_GREEK_CONSONANTS = "\u03b2\u03b3\u03b4\u03b8\u03ba\u03bb\u03bc\u03bd\u03c0\u03c1\u03c3\u03c4\u03c6\u03c7"
_GREEK_VOWELS = "\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9"

TOPICS: dict[str, tuple[str, ...]] = {
    "gardening": words("seed hedge trellis compost bulb rake spade border cutting orchard tomato mulch bed pot"),
    "cycling": words("wheel saddle chain gear pedal brake tyre spoke frame basket pump bell route climb"),
    "baking": words("loaf crust oven dough crumb starter flour tin rye bun scale bowl recipe slice"),
    "sailing": words("mast hull rope sail harbour tide anchor keel rudder chart crew buoy knot deck"),
    "radio": words("aerial dial valve circuit signal band coil speaker battery relay meter beacon tuner mast"),
    "chess": words("pawn bishop opening clock board rook gambit ending tempo file rank problem trap puzzle"),
    "knitting": words("needle yarn stitch row sleeve pattern scarf cuff loop button collar skein swatch seam"),
    "birdwatching": words("heron nest feather marsh wing flock hide feeder egg song reed owl lens notebook"),
    "walking": words("path hill stile map boot valley bridge ridge forest inn milestone moor ford gate"),
    "clocks": words("spring gear hand face chime pendulum case pin wheel dial tower key weight movement"),
    "pottery": words("kiln glaze wheel clay mug bowl vase handle shelf tile slip brush plate oxide"),
    "beekeeping": words("hive queen frame smoker swarm comb honey veil brood clover drone wax jar meadow"),
}
SOFTWARE_WORDS = words("archive index option volume record header checksum path filter buffer log flag job key")
LOAN_WORDS = words("loan credit mortgage rate refinance payday debt lender quote bank broker equity lease fund")
GADGET_WORDS = words("phone tablet charger headset camera laptop drone monitor case watch printer router cable")
SALE_WORDS = words("cheap best online free fast top low instant easy discount compare new local bad")
ODD_SALE_WORDS = ("no-fee", "24/7", "buy-now", "1st")

_COMMON: dict[str, tuple[str, ...]] = {
    "adj": words(
        "old small quiet heavy narrow bright plain rough careful early late warm cold honest steady odd tidy broken"
        " borrowed spare green grey wooden clean second northern simple stubborn patient useful local dusty"
    ),
    "verb": words(
        "needs holds carries hides follows changes keeps loses repairs covers beats meets finds suits joins misses"
        " guides marks feeds supports turns reaches moves saves shows"
    ),
    "past": words(
        "lost found kept mended carried sold borrowed painted moved cleaned measured dropped ordered packed counted"
        " tested opened checked swapped hung filled weighed sorted labelled"
    ),
    "adverb": words(
        "slowly often rarely gladly twice again soon badly gently nearly always never quietly together alone well"
        " early late firmly once"
    ),
    "place": words(
        "shed kitchen market station library workshop school harbour village attic museum cellar barn square club"
        " church river mill office yard"
    ),
    "name": words(
        "Anna Bram Celia Dorus Edda Ferris Greta Hollis Imre Jonna Karel Lotte Marek Nella Osric Petra Quint Runa"
        " Sander Tilda Ulric Vera Wim Yara"
    ),
    "month": words("January March April May June July August September October November"),
    "number": words("two three four five six seven eight nine ten eleven twelve twenty thirty forty"),
}

_PATTERNS = (
    "The {adj} {noun} {verb} every {noun} near the {place}.",
    "In {month} we {past} {number} {nouns}, and {name} {past} the rest.",
    "{name} {adverb} {past} a {adj} {noun}; nobody at the {place} minded.",
    "Is a {adj} {noun} worth the trouble?",
    "My {noun} {verb} a {noun}, a {noun} and the {adj} {noun} from the {place}.",
    "{name}'s {noun} was {adj}, but it {verb} {adverb}.",
    "Most {nouns} at the {place} are {adj}.",
    "We {past} them {adverb}, {number} at a time.",
    "A {noun} ({adj} or {adj}) {verb} the {noun} {adverb}.",
    "Never trust a {adj} {noun} - it {verb} {adverb}.",
    '"That {noun} {verb} too much," said {name}.',
    "After {month} the {nouns} get {adj}, the {place} gets {adj}, and {name} goes home.",
    "Here is the rule: {number} {nouns}, one {noun}.",
    "It took {number} days.",
    "Some {nouns} {adverb} stay {adj}, whatever the {noun} {verb}.",
    "When the {noun} {verb}, look at the {adj} {noun} first.",
    "I don't know who {past} the {noun}, or why.",
    "{name} and {name} {past} {number} {adj} {nouns} behind the {place}!",
    "Without a {noun} there is no {noun}, only a {adj} {place} full of {nouns}.",
    "The {place} in {month}: {adj}, {adj} and {adverb} open.",
    "Every {noun} {verb} something.",
    "You can have the {adj} {noun} if you bring {number} {nouns} to the {place}.",
)


@dataclass(frozen=True)
class Writer:
    """Someone with a vocabulary: makes titles and sentences out of `nouns`, drawing from `rng`."""

    rng: random.Random
    nouns: tuple[str, ...]

    def _word(self, slot: str) -> str:
        if slot == "noun":
            return self.rng.choice(self.nouns)
        if slot == "nouns":
            return plural(self.rng.choice(self.nouns))
        return self.rng.choice(_COMMON[slot])

    def write(self, pattern: str) -> str:
        """`pattern` with each {slot} replaced by a word of that kind."""
        return _A_BEFORE_VOWEL.sub(r"\1n", _SLOT.sub(lambda match: self._word(match[1]), pattern))

    def sentence(self) -> str:
        return self.write(self.rng.choice(_PATTERNS))

    def paragraph(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def paragraphs(self, count: int, *, longest: int = 4) -> list[str]:
        return [self.paragraph(self.rng.randint(2, longest)) for _ in range(count)]

    def title(self) -> str:
        pattern = self.rng.choice(("{adj} {nouns}", "{noun} and {noun}", "the {adj} {noun}", "{nouns} in {month}"))
        return capitalised(self.write(pattern))

    def label(self) -> str:
        """One or two words, for menus and links."""
        return capitalised(self.write(self.rng.choice(("{noun}", "{nouns}", "{adj} {noun}"))))

    def name(self) -> str:
        return self._word("name")

    def keyword(self) -> str:
        """A search phrase as keyword-stuffed pages carry it: sale word, ware, ware; now and then with punctuation."""
        sale = self.rng.choice(ODD_SALE_WORDS if self.rng.random() < 0.04 else SALE_WORDS)
        return f"{sale} {' '.join(self.rng.sample(self.nouns, 2))}"

    def keywords(self, count: int) -> list[str]:
        return [self.keyword() for _ in range(count)]


def capitalised(text: str) -> str:
    """Unlike str.capitalize, leaves the names of months alone."""
    return text[0].upper() + text[1:]


def plural(noun: str) -> str:
    """Good enough for the nouns of the lists above."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeou":
        return noun[:-1] + "ies"
    return noun + "s"


def topic_writer(rng: random.Random) -> Writer:
    """A writer on one of the topics, picked by `rng`."""
    return Writer(rng, TOPICS[rng.choice(sorted(TOPICS))])


def greek_like_sentence(rng: random.Random) -> str:
    """Made-up words in Greek letters: a page in another script has the punctuation and hardly any other ASCII."""
    syllables = [consonant + vowel for consonant in _GREEK_CONSONANTS for vowel in _GREEK_VOWELS]
    sentence = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(rng.randint(4, 11))]
    sentence[rng.randrange(len(sentence) - 1)] += rng.choice(("", "", ","))
    return " ".join(sentence).capitalize() + rng.choice((".", ".", ".", ";", "!"))
