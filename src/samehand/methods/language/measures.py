"""The measures of a text, and how each of them is told to people."""

import math
from collections.abc import Callable


def percent(share: float) -> str:
    """A share for people. Shares beyond chance can be negative: those are 0 %."""
    value = 100 * max(0.0, share)
    return f"{value:.0f} %" if value >= 10 or value < 0.05 else f"{value:.1f} %"


def _rest(share: float) -> str:
    return percent(1 - share)


def _degree(value: float) -> str:
    return f"{value:.2f}"


def _deviations(value: float) -> str:
    return f"{value:.1f} standard deviations"


def _count(log: float) -> str:
    return f"{math.expm1(min(log, 30.0)):.0f}"


def _power(base: float, pattern: str, sign: int = 1) -> Callable[[float], str]:
    """Shows the number of which a measure is the logarithm."""

    def show(log: float) -> str:
        value = base ** min(sign * log, 30.0)
        return pattern.format(f"{value:,.0f}" if value >= 10 else f"{value:.2f}")

    return show


_times, _times10, _times_less = _power(math.e, "{} times"), _power(10, "{} times"), _power(math.e, "{} times", -1)
_one_of, _one_of10 = _power(math.e, "one of {}"), _power(10, "one of {}", -1)
_number = _power(math.e, "{}")
_once_in, _words, _factor = _power(10, "once in {}"), _power(math.e, "{} words"), _power(math.e, "a factor of {}")

_RESEMBLES = "The order of its words speaks for {} rather than for natural text by {{}} (log-odds for each word)"
_THROUGHOUT = "Even the order of words in its more natural half speaks for {} by {{}} (log-odds for each word)"
_KEEPS = "What stands {} words before makes {} {{}} as likely as the whole text does"
_NEAR, _WIDE = "6 to 29", "12 to 59"

MEASURES: dict[str, tuple[str, Callable[[float], str], str]] = {
    "unknown_words": ("words", percent, "{} of its words are unknown to the language model"),
    "unknown_short": ("words", percent, "{} of its words are short and unknown to the language model"),
    "function_words": ("composition", percent, "{} of its words are common ones such as “the”, “of” and “to”"),
    "content_words": ("composition", percent, "Content words make up {} of the text"),
    "marks": ("punctuation", percent, "Punctuation makes up {} of the text"),
    "numbers": ("numbers", percent, "Numbers make up {} of the text"),
    "back_within_50": ("repetition", _times, "Content words come back within 50 words {} as often as by chance"),
    "back_within_250": ("repetition", _times, "Content words come back within 250 words {} as often as by chance"),
    "back_ever": ("repetition", _times, "Content words come back {} as often as by chance"),
    "extra_within_50": ("repetition", percent, "Chance apart, {} of content words repeat one of the last 50 words"),
    "extra_within_250": ("repetition", percent, "Chance apart, {} of content words repeat one of the last 250 words"),
    "extra_ever": ("repetition", percent, "Chance apart, {} of content words repeat an earlier one"),
    "taken_up": ("coherence", _times, "What the text said before makes its content words {} as likely"),
    "taken_up_share": ("coherence", percent, "Chance apart, {} of content words take up a word of an earlier sentence"),
    "near_pairs": ("passages", _times, "Neighbouring passages share words {} as often as if the words were shuffled"),
    "near_pairs_z": ("passages", _deviations, "Neighbouring passages share words {} more often than shuffled ones"),
    "distinct": ("repetition", percent, "{} of its content words were not used before in the text"),
    "once": ("repetition", percent, "{} of its different content words occur only once"),
    "commonest": ("frequent words", percent, "One word makes up {} of its content words"),
    "five_commonest": ("frequent words", percent, "Five words make up {} of its content words"),
    "gaps": ("passages", _times, "Repeated words stand {} as far apart as if the words were shuffled"),
    "fits_near": ("subject", percent, "Words agree in subject with those shortly before them by {}"),
    "fits_far": ("subject", percent, "Words agree in subject with those long before them by {}"),
    "fits_nearer": (
        "subject",
        percent,
        "Words agree in subject with the last words by {} more than with earlier ones",
    ),
    "topic_near": ("subject", percent, "Neighbouring passages agree in subject by {}"),
    "topic_drift": ("subject", percent, "Neighbouring passages agree in subject by {} more than distant ones"),
    "class_order": ("grammar", _one_of, "The kind of the next word (noun, verb, …) is as hard to guess as {}"),
    "class_gain": ("grammar", _times, "The words before make the kind of the next word (noun, verb, …) {} as likely"),
    "class_breaks": ("grammar", percent, "{} of its words are of a kind that does not fit there (a verb after “the”)"),
    "put_in": ("insertions", _times_less, "Its words fit between their neighbours {} as well as random words"),
    "put_in_share": ("insertions", percent, "{} of its words look inserted between words that belong together"),
    "put_in_again": (
        "insertions",
        _times_less,
        "Words that it repeats fit between their neighbours {} as well as random words",
    ),
    "put_in_rather_again": (
        "insertions",
        _times_less,
        "Words that it repeats fit between their neighbours {} as well as words that it uses once",
    ),
    "put_in_everywhere": ("insertions", percent, "{} of its content words come back and look inserted each time"),
    "put_in_in_all": (
        "insertions",
        _degree,
        "Words that it repeats look inserted by {} (squared log-odds for each word)",
    ),
    "put_in_known": ("insertions", percent, "{} of its content words look inserted between words that belong together"),
    "split_pairs": ("insertions", percent, "{} of its fixed pairs such as “of the” are split by another word"),
    "like_chain": ("patterns", _degree, _RESEMBLES.format("a chain of word pairs")),
    "like_long_chain": ("patterns", _degree, _RESEMBLES.format("a chain of longer sequences")),
    "like_patchwork": ("patterns", _degree, _RESEMBLES.format("a patchwork of pieces")),
    "like_stuffing": ("patterns", _degree, _RESEMBLES.format("text with inserted words")),
    "throughout_chain": ("patterns", _degree, _THROUGHOUT.format("a chain of word pairs")),
    "throughout_long_chain": ("patterns", _degree, _THROUGHOUT.format("a chain of longer sequences")),
    "throughout_patchwork": ("patterns", _degree, _THROUGHOUT.format("a patchwork of pieces")),
    "throughout_stuffing": ("patterns", _degree, _THROUGHOUT.format("text with inserted words")),
    "persons_kept": ("persons", _times, _KEEPS.format(_NEAR, "the person spoken of (I, she, we, …)")),
    "persons_kept_longer": ("persons", _times, _KEEPS.format(_WIDE, "the person spoken of (I, she, we, …)")),
    "persons_mixed": (
        "persons",
        _number,
        "It speaks of as many persons (I, she, we, …) as if {} were equally frequent",
    ),
    "tenses_kept": ("tenses", _times, _KEEPS.format(_NEAR, "the tense")),
    "tenses_kept_longer": ("tenses", _times, _KEEPS.format(_WIDE, "the tense")),
    "tenses_mixed": ("tenses", _number, "It uses as many tenses as if {} were equally frequent"),
    "common_kept": ("common words", _times, _KEEPS.format(_NEAR, "a common word")),
    "common_kept_longer": ("common words", _times, _KEEPS.format(_WIDE, "a common word")),
    "common_mixed": ("common words", _number, "It uses as many common words as if {} were equally frequent"),
    "classes_kept": ("kinds of words", _times, _KEEPS.format(_NEAR, "the kind of word (noun, verb, …)")),
    "classes_kept_longer": ("kinds of words", _times, _KEEPS.format(_WIDE, "the kind of word (noun, verb, …)")),
    "classes_mixed": ("kinds of words", _number, "It uses as many kinds of words as if {} were equally frequent"),
    "keywords": ("keywords", percent, "{} of its words are spam keywords"),
    "keyword_kinds": ("keywords", _count, "It uses {} different spam keywords"),
    "word_rarity": ("words", _once_in, "A typical word of it occurs {} words of ordinary text"),
    "gain_3": ("prediction", _times10, "The two words before make the next word {} as likely"),
    "gain_4": ("prediction", _times10, "A third word before makes the next word {} as likely as two alone"),
    "log_p_3": ("prediction", _one_of10, "After two words, the next word is as hard to guess as {}"),
    "log_p_4": ("prediction", _one_of10, "After three words, the next word is as hard to guess as {}"),
    "hard_words": ("prediction", percent, "{} of its words hardly ever follow the words before them"),
    "known_2": ("sequences", _rest, "{} of its word pairs occur nowhere in ordinary text"),
    "known_3": ("sequences", _rest, "{} of its ordinary word pairs continue with a word that never follows them"),
    "known_4": ("sequences", _rest, "{} of its ordinary word triples continue with a word that never follows them"),
    "relative_entropy_3": ("phrase", _degree, "It departs from usual third words of phrases by {} (relative entropy)"),
    "relative_entropy_4": (
        "phrases",
        _degree,
        "It departs from usual fourth words of phrases by {} (relative entropy)",
    ),
    "known_histories_3": ("sequences", _rest, "{} of its two-word sequences occur nowhere in ordinary text"),
    "known_histories_4": ("sequences", _rest, "{} of its three-word sequences occur nowhere in ordinary text"),
    "sentence_length": ("sentences", _words, "A typical sentence has {}"),
    "sentence_spread": ("sentences", _factor, "Sentences vary in length by {}"),
    "sentence_neighbours": ("sentences", _degree, "The lengths of neighbouring sentences have a correlation of {}"),
    "short_sentences": ("sentences", percent, "{} of its sentences have at most three words"),
    "long_sentences": ("sentences", percent, "{} of its sentences have sixty words or more"),
    "unpaired_brackets": ("brackets", percent, "{} of its brackets have no partner"),
    "unpaired_quotes": ("quotes", percent, "{} of its quotes are opened and not closed, or closed and not opened"),
    "unpaired": ("brackets", _count, "{} of its brackets and quotes have no partner"),
    "repeated_phrases": ("repeated phrases", percent, "{} of its six-word sequences repeat an earlier one"),
}
"""Subject, figure and sentence of each measure. `features` defines the measures; detectors store them in this order."""


def reason(name: str, here: float, usual: float) -> str:
    """A measure of a text, beside what is usual, as one sentence."""
    _, show, sentence = MEASURES[name]
    return f"{sentence.format(show(here))}; usual is {show(usual)}."
