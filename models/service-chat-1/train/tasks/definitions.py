"""What common words mean, as WordNet has it, and words that the model was never told of."""

import functools
import random

from training_kit.wordnet import Synset

from ..conversation import Example, assistant, user
from ..lexicon import COUNTRY_FILE, LEXICOGRAPHERS, PERSON_FILE, common, first_meanings, open_words, proper_names
from ..tables import CAPITALS, invented_word
from ..wording import article, capital, casual, phrase, rows_of, say
from .knowledge_table import WHO

NOUNS = """
accident actor airplane airport alphabet ambulance anchor angel ankle apartment apple apron architect army artist
astronaut atom autumn baby bakery balcony ball balloon banana bank barn basement basket battery beach beard bed bee
beer bell belt bench bicycle bird birthday biscuit blanket blood boat bone book boot bottle bowl brain branch bread
breakfast brick bride bridge broom brother bucket builder bus butcher butter butterfly button cabin cage cake
calendar camel camera candle canoe car carpet carrot castle cat cave ceiling century chain chair cheese cherry chimney
church circle citizen clock cloud coal coast coat coffee coin comb compass concert continent cook copper corn cottage
cotton cousin cow crocodile crown cup curtain daughter desert desk detective dew diamond diary dictionary dinner disease
doctor dog dolphin donkey door dragon drawer dress drum duck dust eagle ear earth earthquake elephant elevator emperor
engine envelope evening factory family farmer father feather fence festival fever field finger fire fish flag flame
floor flower flute fog forest fork fox friend frog fruit funeral furniture garage garden garlic ghost giraffe glass
glove grandmother grass guitar hammer harbor hat heart helmet hen hill honey horse hospital hotel house hunger
husband hut ice insect iron island jacket jewel joke judge juice jungle kettle key king kitchen knee knife ladder lake
lamp lamb language lawyer leaf leather lemon library lightning lion lip luck lunch magazine magnet map market meadow
medicine melon milk mirror money monkey monster month moon morning mosquito mother mountain mouse mouth museum music
nail nation needle neighbor nest newspaper night noon nose nurse ocean onion orange orchestra owl oxygen painter palace
paper parachute parent parrot passenger passport peach peanut pear pen pencil pepper piano picnic pig pillow pilot
pirate planet pocket poem poet poison prison pyramid queen rabbit rain rainbow ring river robot rocket roof rope rose
sailor salt sand sandwich school scissors sculptor season shadow shark sheep shelf ship shirt shoe silk silver singer
sister skeleton skin sky sleep smoke snake snow soap sock soldier son soup spider spoon spring stable statue steam stone
storm strawberry student sugar suitcase summer sun swan table tailor tax tea teacher tear telescope tent theater thief
thumb thunder toe tomato tongue tool tooth towel tower toy tractor traffic train treasure tree triangle truck
trumpet tunnel turtle umbrella uncle university vegetable village violin volcano waiter wallet war wedding week
wheat wheel whistle widow wind window wine winter wolf wood wool year zebra
""".split()
VERBS = """
arrive bake begin bite borrow break breathe build burn buy carry catch celebrate chew choose clap climb collect
cook copy cough count cry dance decorate destroy dig divide dream drink drown eat escape explode faint fall fold forget
forgive freeze gather hate hide hug hunt invent invite jump kick kill kiss kneel laugh learn lie listen melt mix
multiply obey open paint pray promise punish push read remember repair rest ride run scream sell sew shave shout sing
sit sleep smell smile snore sob steal swallow swear sweat swim teach translate travel visit wait wake walk whisper win
wink wipe worry write yawn yell
""".split()
MORE_NOUNS = """
animal boy city computer country eye food game girl gravity hour letter life love man peace person potato sea sentence
song universe water woman word
""".split()
SHORTEST, LONGEST = 3, 11
"""Words of a definition that is taught."""
LONG = set("""
airplane airport apartment apple army baby beach bicycle bottle brain butter butterfly calendar camel cat church coat
desk dictionary dinner dog factory fish flag food fox frog hotel house lion milk nest night ocean orchestra owl paper
parrot prison rabbit roof sea shark soap soup spoon sun swan thief train tree violin volcano water wheat wind wolf
""".split())
"""Words so common that their definitions may be longer."""

ASK_NOUN = (
    "(What is (a |an |the |){w}|What's (a |){w}|whats (a |){w}|What are {w}s|Tell me about (the |a |){w}|Meaning of"
    " {w}|{w} meaning|What is {w}|What does the term {w} stand for|Do you know the word {w}|Describe (a |){w}|Give me a"
    " definition of {w}|Give me the definition of {w}|How do you define {w}|In one sentence, what is {w}|Define"
    " {w}|What does {w} mean|Explain {w}|What is the meaning of {w}|Tell me what {w} means|Do you know what {w}"
    " means|Definition of {w}|What does the word {w} mean|Explain the word {w}[ to me]|Can you explain {w}|I want to"
    " know what {w} means|What does a dictionary say of {w}|What would you say {w} means|{w} - what is that|{w}:"
    " what is it|What is the meaning of the word {w}|Can you tell me what (a |){w} is|Tell me what (a |){w} is|"
    "What exactly is (a |){w}|"
    "I do not know the word {w}, can you help|Somebody asked me what (a |){w} is|What kind of thing is (a |){w}|"
    "I am learning English, what is (a |){w}|Please explain what (a |){w} is|wat is (a |){w}|Help, what is (a |){w})?"
)
ASK_VERB = (
    "(What does it mean to {w}|Define to {w}|What does to {w} mean|Explain to {w}|Tell me what to "
    "{w} means|Do you know what to {w} means|What does the verb {w} mean|Explain the verb {w}[ to "
    "me]|Can you explain to {w}|I want to know what to {w} means|What does a dictionary say of to "
    "{w}|What would you say to {w} means|What does {w} mean|"
    "Define {w}|{w} meaning|What is the meaning of {w}|What do people do when they {w}|If I {w}, what do I do)?"
)
HELD_OUT_NOUN = (
    "(Could you explain the word {w} to me|I would like to know what {w} means|How would a dictionary explain {w})?"
)
HELD_OUT_VERB = (
    "(Could you explain the verb to {w} to me|I would like to know what to {w} means|How would a "
    "dictionary explain to {w})?"
)
ASK_ADJECTIVE = (
    "(What does {w} mean|Define {w}|What is the meaning of {w}|Tell me what {w} means|Explain the word {w}[ to me]|What"
    " does the word {w} mean|Do you know what {w} means|What is meant by {w}|Definition of {w}|What does it mean to be"
    " {w}|What is the definition of {w}|{w}: what does it mean|Meaning of {w}|Explain {w}|When is something {w}|"
    "What does it mean when something is {w}|"
    "What do people mean by {w}|{w} - what does that mean|I do not know the word {w}, can you help)?"
)
HELD_OUT_ADJECTIVE = HELD_OUT_NOUN
COMMON = {"n": 1900, "v": 500, "a": 500}
"""So many of the commonest words are taught beside the everyday ones, where their definitions are short."""
EVERYDAY_SHARE = 0.5
UNKNOWN = "I do not know the word {w}."


@functools.cache
def glosses() -> dict[tuple[str, str], str]:
    """(part of speech n, v or a; word) -> definition of its first meaning, where that is short."""
    found = dict(everyday())
    for part, count in COMMON.items():
        for word in common(part, count):
            if (part, word) in first_meanings() and not any((other, word) in found for other in "nva"):
                gloss = plain(first_meanings()[part, word])
                if SHORTEST <= len(gloss.split()) <= LONGEST:
                    found[part, word] = gloss
    return meanings() | found


@functools.cache
def meanings() -> dict[tuple[str, str], str]:
    """`meanings.txt`: lines `n | word => meaning` of words whose meaning in WordNet is long or rare."""
    return {tuple(key.split(" | ")): meaning for key, meaning in rows_of("meanings.txt")}


@functools.cache
def everyday() -> dict[tuple[str, str], str]:
    """Definitions of the words listed here, which are asked for more often."""
    found = {}
    for part, words in (("n", NOUNS + MORE_NOUNS), ("v", VERBS)):
        for word in words:
            gloss = plain(first_meanings()[part, word]) if (part, word) in first_meanings() else ""
            if SHORTEST <= len(gloss.split()) and (word in LONG or len(gloss.split()) <= LONGEST):
                found[part, word] = gloss
    return found


def plain(synset: Synset) -> str:
    """The definition up to its first semicolon, without asides."""
    text = synset.definition.split(";")[0].strip()
    while "(" in text and ")" in text:
        before, _, rest = text.partition("(")
        text = f"{before.strip()} {rest.partition(')')[2].strip()}".strip()
    return text


@functools.cache
def untaught(held_out: bool) -> tuple[str, ...]:
    """Words of WordNet that have no definition here, of training or of the evaluation."""
    taught = {word for _, word in glosses()} | set(NOUNS) | set(VERBS)
    words = (word for part in "nva" for word in open_words(part, held_out))
    return tuple(word for word in words if word not in taught)


def definition(rng: random.Random, held_out: bool) -> Example:
    """A word that is taught."""
    part, word = rng.choice(list(everyday() if held_out or rng.random() < EVERYDAY_SHARE else glosses()))
    noun, verb, quality = (
        (HELD_OUT_NOUN, HELD_OUT_VERB, HELD_OUT_ADJECTIVE) if held_out else (ASK_NOUN, ASK_VERB, ASK_ADJECTIVE)
    )
    asked = question({"n": noun, "v": verb, "a": quality}[part], rng, word, held_out)
    text = define(part, word)
    return Example([user(asked), assistant(text)], expect={"gloss": text, "word": word})


def define(part: str, word: str) -> str:
    """`Violin: bowed stringed instrument.`"""
    gloss = glosses()[part, word].rstrip(".")
    return f"{'To ' + word if part == 'v' else capital(word)}: {gloss}."


def question(pattern: str, rng: random.Random, word: str, held_out: bool) -> str:
    """The pattern with the right article; in training as people type it, who put some words in quotation marks."""
    text = say(pattern, rng, w=word)
    other = article(word)
    for wrong in (f" a {word}", f" an {word}"):
        text = text.replace(wrong, f" {other}")
    if held_out:
        return text
    mark = rng.choice(("", "", "", "", "", "", "'", '"'))
    before, found, behind = text.rpartition(word)
    return casual(f"{before}{mark}{found}{mark}{behind}", rng)


def unknown_word(rng: random.Random, held_out: bool) -> Example:
    """A word that is not taught, half of them invented."""
    rare = untaught(held_out)
    word = invented_word(rng, rng.choice((2, 2, 3))) if rng.random() < 0.5 else rng.choice(rare)
    noun, verb = (HELD_OUT_NOUN, HELD_OUT_VERB) if held_out else (ASK_NOUN, ASK_VERB)
    asked = question(verb if rng.random() < 0.3 else noun, rng, word, held_out)
    text = UNKNOWN.format(w=word)
    return Example([user(asked), assistant(text)], expect={"contains": "do not know"})


def named(rng: random.Random, held_out: bool) -> Example:
    """A famous person, a country or its capital, as WordNet describes them."""
    person = rng.random() < 0.6
    name = rng.choice(list(people())) if person else rng.choice(list(places()))
    gloss = people()[name] if person else places()[name]
    pattern = (
        "(Who (was|is) {n}|Who's {n}|Tell me (about|who was) {n}|Do you know who {n} (was|is)|What do you know about"
        " {n}|Have you heard of {n}|What did {n} do)?"
        if person
        else (
            "(What is {n}|Where is {n}|Tell me about {n}|What do you know about {n}|Do you know where {n} is|On which"
            " continent is {n}|Where does {n} lie|What kind of place is {n}|Describe {n}|Have you heard of {n})?"
        )
    )
    answer = f"{capital(name)}: {gloss}."
    return Example([user(phrase(pattern, rng, held_out, n=name)), assistant(answer)], expect={"contains": gloss})


@functools.cache
def people() -> dict[str, str]:
    """Names that people use -> what WordNet says, without the years."""
    found: dict[str, str] = {}
    for lemma, synset in proper_names(PERSON_FILE).items():
        if lemma.split()[-1] in WHO and synset.lemmas[0].split()[-1] in WHO and 3 <= len(plain(synset).split()) <= 18:
            found.setdefault(lemma.split()[-1] if lemma in WHO else lemma, plain(synset))
    return found


@functools.cache
def places() -> dict[str, str]:
    """Countries and capitals -> what WordNet says of them."""
    wanted = {name.removeprefix("the ") for name in (*CAPITALS, *CAPITALS.values(), *MORE_PLACES)}
    glossed = {name: plain(synset) for name, synset in proper_names(COUNTRY_FILE).items() if name in wanted}
    return {name: gloss for name, gloss in glossed.items() if 3 <= len(gloss.split()) <= 20}


MORE_PLACES = """
Europe Africa Asia Antarctica Hamburg Munich Venice Milan Naples Florence Barcelona Seville Lyon Marseille Geneva Zurich
Boston Chicago Denver Seattle Dallas Houston Miami Toronto Montreal Sydney Melbourne Osaka Kyoto Mumbai Shanghai
California Texas Florida Alaska Hawaii Scotland Wales Sicily Crete Bavaria Manhattan Brooklyn Hollywood Oxford Cambridge
""".split()


def kind_of(rng: random.Random, held_out: bool) -> Example:
    """Whether a common thing is an animal, a plant, food, a person or made by people."""
    word = rng.choice(sortable())
    own = LEXICOGRAPHERS[first_meanings()["n", word].lexicographer]
    claimed = own if rng.random() < 0.5 else rng.choice([kind for kind in LEXICOGRAPHERS.values() if kind != own])
    a, b = article(word), article(claimed) if claimed != "food" else claimed
    right = article(own) if own != "food" else own
    asked = phrase(
        "(Is {a} {b}|Tell me, is {a} {b}|Would you call {a} {b}|Can you say that {a} is {b}|{a} is {b}, right|Do you"
        " think {a} is {b})?",
        rng,
        held_out,
        a=a,
        b=b,
    )
    answer = f"Yes, {a} is {b}." if claimed == own else f"No, {a} is {right}."
    return Example([user(asked), assistant(answer)], expect={"begins": answer.split(",")[0]})


@functools.cache
def sortable() -> list[str]:
    """Common nouns whose first meaning is of one of the kinds, and clearly so."""
    return [word for word in common("n", 4000) if first_meanings()["n", word].lexicographer in LEXICOGRAPHERS]


RELATIONS = (
    ("opposite", "(What is|What's|Tell me|Give me|Say|Name|Do you know) the opposite of {w}?", "a"),
    (
        "synonym",
        "(What is|What's|Tell me|Give me|Say|Name|Do you know) (a synonym (for|of)|another word for) {w}?",
        "a",
    ),
    (
        "rhyme",
        "(What rhymes with|Tell me a rhyme for|Give me a rhyme for|Which word rhymes with|Find a rhyme for) {w}?",
        "n",
    ),
    ("colour", "(What colour is|What color is|Which colour has|What is the colour of) a {w}?", "n"),
    ("sound", "(What sound does a {w} make|What does a {w} say|Which sound does a {w} make|How does a {w} go)?", "n"),
    ("young", "(What is a baby {w} called|What do you call a young {w}|What is the name for a young {w})?", "n"),
)
NOT_KNOWN = {
    "opposite": "I do not know the opposite of {w}.",
    "synonym": "I do not know another word for {w}.",
    "rhyme": "I do not know a rhyme for {w}.",
    "colour": "I do not know the colour of that.",
    "sound": "I do not know a sound of that.",
    "young": "I do not know a name for that.",
}


def unknown_fact(rng: random.Random, held_out: bool) -> Example:
    """The opposite, the rhyme, the colour of a word that nobody told it."""
    name, pattern, part = rng.choice(RELATIONS)
    word = invented_word(rng, 2) if rng.random() < 0.4 else rng.choice(untaught_of(part, held_out))
    answer = NOT_KNOWN[name].format(w=word)
    return Example(
        [user(phrase(pattern, rng, held_out, keep=True, w=word)), assistant(answer)], expect={"text": answer}
    )


@functools.cache
def untaught_of(part: str, held_out: bool) -> tuple[str, ...]:
    """Rare words of a part of speech."""
    known = set(common(part, 3000))
    return tuple(word for word in open_words(part, held_out) if word not in known)
