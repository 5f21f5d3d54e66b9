"""Letters and words: spelling, counting, first and last, the alphabet, and small changes to a sentence."""

import functools
import itertools
import random
import re
from collections import Counter
from collections.abc import Callable

from ..conversation import Example, assistant, user
from ..lexicon import common, irregular, open_words, past, plural
from ..tables import invented_word, some_name
from ..wording import capital, join, phrase
from .instructions import phrase as some_words
from .numbers import ORDINALS
from .small_talk import everyday_rows

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
VOWELS = "aeiou"
EVERYDAY = 1500
REGULAR_VERBS = """
walk talk play jump work ask call clean cook help look wash watch wait want start open close like love live move use
dance paint answer add arrive believe brush change check climb count cry dry enjoy finish follow guess happen hate hope
invite join kick kiss laugh learn listen need notice order pack pick pull push rain reach remember rest sail save
share shout show smile snow talk thank touch travel visit wish
""".split()


@functools.cache
def spoken_words() -> tuple[str, ...]:
    """Words that people say: of the everyday conversations, and the commonest of WordNet."""
    texts = itertools.chain.from_iterable((*questions, answer) for questions, answer in everyday_rows())
    counts = Counter(word for text in texts for word in re.findall(r"[a-z]{2,}", text.lower()))
    said = {word for word, count in counts.items() if count > 1}
    return tuple(sorted(said.union(*(common(part, EVERYDAY) for part in "nva"))))


def some_word(rng: random.Random, held_out: bool) -> str:
    """A word to look at letter by letter: one that people say, a rare or an invented one."""
    draw = rng.random()
    if draw < 0.75:
        return rng.choice(spoken_words())
    if draw < 0.9:
        return rng.choice(open_words(rng.choice("nnva"), held_out))
    return invented_word(rng, rng.choice((1, 2, 2)))


def letters(rng: random.Random, held_out: bool) -> Example:
    """One of the kinds below."""
    kinds = (spell, spell, spell, how_many, how_many, first_or_last, first_or_last, backwards, alphabet, alphabetical)
    return asked_of(rng.choice((*kinds, begins, vowels, shouted, sentence, sentence, unspell)), rng, held_out)


def asked_of(
    kind: Callable[[random.Random, bool], tuple[str, str, str]], rng: random.Random, held_out: bool
) -> Example:
    """A question of this kind, its answer, and what of that a right one must have."""
    asked, answer, wanted = kind(rng, held_out)
    return Example([user(asked), assistant(answer)], expect={"contains": wanted})


def spelling(rng: random.Random, held_out: bool) -> Example:
    """Letters of one word or several, written and counted."""
    kinds = (spell, spell_several, spell_several, spell_several, how_many, backwards)
    return asked_of(rng.choice(kinds), rng, held_out)


def spell_several(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    words = [some_word(rng, held_out) for _ in range(rng.randint(2, 9))]
    pattern = (
        "(Spell|Please spell|Can you spell|How do you spell|Spell out|Could you spell|Write letter by letter|Spell me)"
        "[ these words:| the words] {w}?"
    )
    spelled = ", ".join("-".join(word) for word in words)
    return phrase(pattern, rng, held_out, w=join(words)), f"{spelled}.", spelled


def spell(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    word = some_word(rng, held_out)
    if rng.random() < 0.1:
        word = capital(word)
    pattern = (
        "(Spell|How do you spell|Can you spell|How is|Please spell|How do I spell|What is the spelling of|Spell out|"
        "Could you spell|How to spell|Spell me) [the word ]{w}?"
    )
    spelled = "-".join(word)
    return (
        phrase(pattern, rng, held_out, keep=True, w=word).replace(f"How is {word}", f"How is {word} spelled"),
        f"{spelled}.",
        spelled,
    )


def unspell(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    word = some_word(rng, held_out)
    asked = phrase(
        "(What word is|Which word is|What does|Read|What word do these letters make:|Join the letters) {w}?",
        rng,
        held_out,
        w="-".join(word),
    )
    return asked.replace("What does", "What word is"), f"{capital(word)}.", capital(word)


def how_many(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    word = some_word(rng, held_out)
    pattern = (
        "(How many letters (are in|are there in|has|does it take to write|are in the word|has the word) {w}|"
        "(Count|Tell me) the (letters|number of letters) (in|of) {w}|How long is the word {w})?"
    )
    spelled = "-".join(word)
    if rng.random() < 0.5:
        letter = rng.choice((rng.choice(word), max(word, key=word.count), rng.choice(ALPHABET)))
        asked = phrase(
            "(How (many times|often) does the letter {l} (appear|occur|come) in [the word ]{w}|How many ({l}'s|{l}s|{l}|"
            "letters {l}) (are|are there) in [the word ]{w}|Count the {l}'s in [the word ]{w})?",
            rng,
            held_out,
            w=word,
            l=letter,
        )
        count = word.count(letter)
        return asked, f"{spelled}: {count} {'time' if count == 1 else 'times'} {letter}.", f": {count} "
    counted = f"{len(word)} letters"
    return phrase(pattern, rng, held_out, w=word), f"{spelled}: {counted}.", counted


def first_or_last(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    word = some_word(rng, held_out)
    end, at = rng.choice((("first", 0), ("first", 0), ("last", -1), ("last", -1), ("second", 1), ("third", 2)))
    at = min(at, len(word) - 1)
    pattern = (
        "((What is|Which is|What's|Tell me|Give me) the {e} letter (of|in|of the word) {w}|"
        "(What|Which) letter (is|comes) {e} in {w}|(Which|What) is {w}'s {e} letter)?"
    )
    if end == "third" and len(word) < 3:
        end = ORDINALS[at]
    return (
        phrase(pattern, rng, held_out, e=end, w=word),
        f"The {end} letter of {word} is {word[at]}.",
        f"is {word[at]}.",
    )


def backwards(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    word = some_word(rng, held_out)[:8]
    pattern = (
        "((Write|Say|Spell|Turn|What is|Reverse|Please write|Can you write) {w} (backwards|backward|in reverse)|Reverse"
        " [the word ]{w})?"
    )
    back = word[::-1]
    answer = f"{'-'.join(word)}, backwards {'-'.join(back)}: {back}."
    return phrase(pattern, rng, held_out, w=word), answer, back


def alphabet(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    if rng.random() < 0.12:
        asked = phrase(
            "(Say|Write|Tell me|Recite|List|What is|Give me|Can you say|Do you know) the (alphabet|letters of the"
            " alphabet|ABC|abc).",
            rng,
            held_out,
        )
        return asked, f"{', '.join(ALPHABET)}.", "x, y, z"
    at = rng.randrange(1, 25)
    if rng.random() < 0.25:
        asked = phrase(
            "(What|Which) (is the {o} letter|letter is the {o}|letter is number {n})[ of the alphabet| in the"
            " alphabet]?",
            rng,
            held_out,
            o=ORDINALS[at % 12],
            n=at % 12 + 1,
        )
        at %= 12
        return asked, f"The {ORDINALS[at]} letter is {ALPHABET[at]}.", f"is {ALPHABET[at]}."
    word, other = rng.choice((("after", ALPHABET[at + 1]), ("before", ALPHABET[at - 1])))
    letter = rng.choice((ALPHABET[at], ALPHABET[at].upper()))
    asked = phrase(
        "(What|Which letter|What letter|Tell me which letter) (comes|is|comes right|stands) {w} {l}[ in the alphabet]?",
        rng,
        held_out,
        w=word,
        l=letter,
    )
    return asked, f"{other.upper()} comes {word} {letter.upper()}.", f"{other.upper()} comes"


def alphabetical(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    words = list(dict.fromkeys(rng.choice(common("n", EVERYDAY)) for _ in range(rng.randint(3, 5))))
    if rng.random() < 0.3:
        words = words[:2]
        rng.shuffle(words)
        asked = phrase(
            "(Which word|Which|What|Which one) (comes|is) first in the (alphabet|dictionary), {a} or {b}?",
            rng,
            held_out,
            a=words[0],
            b=words[-1],
        )
        return asked, f"{capital(min(words))} comes first.", capital(min(words))
    rng.shuffle(words)
    pattern = (
        "(Sort|Put|Order|Arrange|Please sort|Can you sort|Put these words|Sort these words) {w} (alphabetically|in"
        " alphabetical order|by the alphabet|from A to Z).|(Sort alphabetically|Alphabetical order|Sort these words|Put"
        " these words in alphabetical order|Sort in alphabetical order): {w}"
    )
    answer = ", ".join(sorted(words))
    return phrase(f"({pattern})", rng, held_out, w=", ".join(words)), f"{capital(answer)}.", answer[1:]


def begins(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    letter = rng.choice("abcdefghilmnoprstw")
    words = [word for word in common("n", 900) if word[0] == letter and not word.endswith("ness")]
    word = rng.choice(words[:12])
    if rng.random() < 0.35:
        other = rng.choice(common("n", 900))
        asked = phrase(
            "(Does|Does the word|Tell me, does) {w} (start|begin) with [an |the letter ]{l}?",
            rng,
            held_out,
            w=other,
            l=letter,
        )
        yes = other[0] == letter
        return asked, f"{'Yes' if yes else 'No'}, {other} begins with {other[0]}.", f"{'Yes' if yes else 'No'}, "
    asked = phrase(
        "(Tell me|Give me|Name|Say|Write|Do you know|What is|Can you give me) (a|one) word (that starts with|that"
        " begins with|starting with|beginning with|with) [the letter ]{l}?",
        rng,
        held_out,
        l=rng.choice((letter, letter.upper())),
    )
    return asked, f"{capital(word)}.", capital(word)


def vowels(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    if rng.random() < 0.25:
        asked = phrase(
            "(What are|Which are|Name|List|Tell me|Say|Give me) the vowels[ of the alphabet| in English].",
            rng,
            held_out,
        )
        return asked, "The vowels are a, e, i, o and u.", "a, e, i, o and u"
    letter = rng.choice(ALPHABET.replace("y", ""))
    asked = phrase(
        "(Is|Is the letter|Tell me, is) {l} a (vowel|vowel or a consonant|consonant or a vowel)?",
        rng,
        held_out,
        l=letter,
    )
    kind = "vowel" if letter in VOWELS else "consonant"
    if "consonant" in asked.lower():
        return asked, f"{letter} is a {kind}.", kind
    return asked, f"Yes, {letter} is a vowel." if kind == "vowel" else f"No, {letter} is a consonant.", kind


def shouted(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    text = rng.choice((some_words(rng, held_out), some_word(rng, held_out)))
    kind, made = rng.choice(
        (
            ("(in capital letters|in capitals|in upper case|in uppercase|in big letters|in all caps)", text.upper()),
            ("(in small letters|in lower case|in lowercase|without capitals)", text.lower()),
        )
    )
    asked = phrase(
        f"((Write|Say|Put|Please write|Can you write|Repeat) (this |){kind}: {{t}}|"
        f"(Write|Type|Print|Put|Please write|Can you write|How do you write|Show me) {{t}} {kind})",
        rng,
        held_out,
        keep=True,
        t=text,
    )
    return asked, made, made


def sentence(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    """Words of a sentence: how many, first, last, without one, backwards, another in its place, plural, past."""
    text = some_words(rng, held_out)
    words = text.replace(",", "").split()
    kind = rng.choice(("count", "end", "without", "instead", "plural", "past", "use"))
    if kind == "count":
        asked = phrase(
            "(How many words (are|are there) in|Count the words in|What is the number of words in|Number of words"
            " in)(:| this sentence:| this:) {t}",
            rng,
            held_out,
            keep=True,
            t=text,
        )
        return asked, f"{len(words)} words.", f"{len(words)} "
    if kind == "end":
        end, at = rng.choice((("first", 0), ("last", -1)))
        asked = phrase(
            "(What is|Tell me|Give me|Which is|Say) the {e} word (of|in|of this|in this sentence): {t}",
            rng,
            held_out,
            keep=True,
            e=end,
            t=text,
        )
        return asked, f"The {end} word is {words[at]}.", f"is {words[at]}."
    if kind == "without":
        gone = rng.choice(words)
        asked = phrase(
            "(Remove|Delete|Leave out|Take out|Take away) the word {g} (from|in|of)(:| this:| this sentence:) {t}",
            rng,
            held_out,
            keep=True,
            g=gone,
            t=text,
        )
        at = text.replace(",", "").split().index(gone)
        rest = text.split()
        return asked, " ".join(rest[:at] + rest[at + 1 :]), " ".join(rest[:at] + rest[at + 1 :])
    if kind == "instead":
        gone, name = rng.choice(words), some_name(rng, held_out)
        made = " ".join(name if word == gone else word for word in text.split())
        asked = phrase(
            "(Replace|Change|Swap) [the word ]{g} (by|with|to|for) {n} in(:| this:| this sentence:) {t}",
            rng,
            held_out,
            keep=True,
            g=gone,
            n=name,
            t=text,
        )
        return asked, made, made
    if kind == "use":
        noun = rng.choice(common("n", EVERYDAY))
        pattern = (
            "((Use|Put) [the word ]{w} in a sentence|(Write|Make|Give me|Tell me|Say) a [short ]sentence"
            " (with|using|that has|about) [the word ]{w})."
        )
        made = f"I can see the {noun}."
        return phrase(pattern, rng, held_out, w=noun), made, made
    if kind == "plural":
        noun = rng.choice([word for word in common("n", EVERYDAY) if word not in irregular("noun")])
        pattern = (
            "((What is|What's|Tell me|Give me|Say|Write) the plural (of|for|form of) {w}|(What is|How do you say|How do"
            " you write) {w} in the plural|{w}, plural|More than one {w} is called what|One {w}, two what)?"
        )
        return (
            phrase(pattern, rng, held_out, keep=True, w=noun),
            f"The plural of {noun} is {plural(noun)}.",
            f"is {plural(noun)}.",
        )
    verb = rng.choice(REGULAR_VERBS)
    pattern = (
        "((What is|What's|Tell me|Give me|Say|Write) the past (of|tense of|form of|for) [to ]{w}|(What is|How do you"
        " say) {w} in the past|Put {w} into the past)?"
    )
    return (
        phrase(pattern, rng, held_out, keep=True, w=verb),
        f"The past of {verb} is {past(verb)}.",
        f"is {past(verb)}.",
    )
