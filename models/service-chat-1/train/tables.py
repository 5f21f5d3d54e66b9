"""Names, places and things of the conversations. What stands in a HELD_OUT table is in no training text."""

import functools
import random

from .lexicon import COUNTRY_FILE, LEXICOGRAPHERS, PERSON_FILE, common, first_meanings, open_words, plural, proper_names
from .wording import article

NAMES = """
Anna Ben Clara David Emma Felix Grace Henry Ida Jack Kate Leo Maria Noah Olivia Paul Rosa Sam Tina Victor Wendy
Alice Bob Carl Diana Eva Frank Gina Hugo Iris Jonas Karen Lisa Mark Nina Oscar Peter Ruth Simon Tom Vera Will Zoe
Adam Bella Chris Daisy Eric Fiona George Hannah Ivan Julia Kevin Laura Mike Nora Otto Petra Robert Sara Theo Uma
Aaron Beth Colin Dora Ella Fred Greta Harry Irene James Kim Linda Max Nadia Owen Paula Ralph Sofia Tim Vince Yara
Ahmed Bianca Carlos Chen Fatima Haruto Ines Jorge Kofi Lena Mei Nikos Omar Priya Raj Sven Tariq Yuki Amina Diego
""".split()
HELD_OUT_NAMES = """
Agnes Boris Celine Dmitri Edith Floyd Gloria Hassan Ingrid Jasper Keiko Lorenzo Mabel Norbert Ophelia Percy Quentin
Rebecca Stefan Thelma Ulrich Violet Walter Ximena Yusuf Zelda Bertha Cedric Esther Gustav Harriet Marcus Naomi Roland
""".split()

CAPITALS = {
    "France": "Paris",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Portugal": "Lisbon",
    "England": "London",
    "Ireland": "Dublin",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Finland": "Helsinki",
    "Denmark": "Copenhagen",
    "Poland": "Warsaw",
    "Austria": "Vienna",
    "Greece": "Athens",
    "Russia": "Moscow",
    "Hungary": "Budapest",
    "Belgium": "Brussels",
    "Japan": "Tokyo",
    "China": "Beijing",
    "India": "New Delhi",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Peru": "Lima",
    "Cuba": "Havana",
    "Canada": "Ottawa",
    "Chile": "Santiago",
    "Turkey": "Ankara",
    "Iran": "Tehran",
    "Thailand": "Bangkok",
    "Australia": "Canberra",
    "Morocco": "Rabat",
    "Iceland": "Reykjavik",
    "Ukraine": "Kyiv",
    "Vietnam": "Hanoi",
    "Scotland": "Edinburgh",
    "Switzerland": "Bern",
    "Romania": "Bucharest",
    "Bulgaria": "Sofia",
    "Serbia": "Belgrade",
    "Croatia": "Zagreb",
    "Slovenia": "Ljubljana",
    "Slovakia": "Bratislava",
    "Estonia": "Tallinn",
    "Latvia": "Riga",
    "Lithuania": "Vilnius",
    "Albania": "Tirana",
    "Malta": "Valletta",
    "Cyprus": "Nicosia",
    "Luxembourg": "Luxembourg",
    "Monaco": "Monaco",
    "Moldova": "Chisinau",
    "Belarus": "Minsk",
    "Georgia": "Tbilisi",
    "Armenia": "Yerevan",
    "Azerbaijan": "Baku",
    "Kazakhstan": "Astana",
    "Uzbekistan": "Tashkent",
    "Mongolia": "Ulaanbaatar",
    "Nepal": "Kathmandu",
    "Bangladesh": "Dhaka",
    "Pakistan": "Islamabad",
    "Afghanistan": "Kabul",
    "Iraq": "Baghdad",
    "Syria": "Damascus",
    "Lebanon": "Beirut",
    "Jordan": "Amman",
    "Israel": "Jerusalem",
    "Qatar": "Doha",
    "Kuwait": "Kuwait City",
    "Oman": "Muscat",
    "Yemen": "Sanaa",
    "Malaysia": "Kuala Lumpur",
    "Indonesia": "Jakarta",
    "Singapore": "Singapore",
    "Cambodia": "Phnom Penh",
    "Laos": "Vientiane",
    "Taiwan": "Taipei",
    "Fiji": "Suva",
    "Brazil": "Brasilia",
    "Argentina": "Buenos Aires",
    "Mexico": "Mexico City",
    "Colombia": "Bogota",
    "Venezuela": "Caracas",
    "Ecuador": "Quito",
    "Uruguay": "Montevideo",
    "Paraguay": "Asuncion",
    "Bolivia": "La Paz",
    "Panama": "Panama City",
    "Guatemala": "Guatemala City",
    "Honduras": "Tegucigalpa",
    "Nicaragua": "Managua",
    "Jamaica": "Kingston",
    "Haiti": "Port-au-Prince",
    "Algeria": "Algiers",
    "Tunisia": "Tunis",
    "Libya": "Tripoli",
    "Sudan": "Khartoum",
    "Ethiopia": "Addis Ababa",
    "Somalia": "Mogadishu",
    "Uganda": "Kampala",
    "Tanzania": "Dodoma",
    "Rwanda": "Kigali",
    "Zambia": "Lusaka",
    "Zimbabwe": "Harare",
    "Mozambique": "Maputo",
    "Madagascar": "Antananarivo",
    "Angola": "Luanda",
    "Namibia": "Windhoek",
    "Botswana": "Gaborone",
    "Nigeria": "Abuja",
    "Ghana": "Accra",
    "Senegal": "Dakar",
    "Mali": "Bamako",
    "Cameroon": "Yaounde",
    "Congo": "Kinshasa",
    "Gabon": "Libreville",
    "the United States": "Washington",
    "the United Kingdom": "London",
    "New Zealand": "Wellington",
    "South Korea": "Seoul",
    "North Korea": "Pyongyang",
    "Saudi Arabia": "Riyadh",
    "South Africa": "Pretoria",
    "Sri Lanka": "Colombo",
    "the Czech Republic": "Prague",
    "Costa Rica": "San Jose",
    "the Netherlands": "Amsterdam",
    "the Philippines": "Manila",
    "the USA": "Washington",
    "the UK": "London",
    "Great Britain": "London",
    "America": "Washington",
}
CITIES = [
    *dict.fromkeys(CAPITALS.values()),
    *"""
Milan Hamburg Munich Lyon Porto Bergen Boston Chicago Denver Seattle Dallas Toronto Sydney Osaka Mumbai Naples
Geneva Zurich Bristol Leeds York Oxford Miami Austin Houston Venice Seville Turin Cologne Malmo
""".split(),
]
HELD_OUT_CITIES = """
Valencia Glasgow Dresden Nagoya Phoenix Marseille Krakow Salzburg Montreal Bologna Tampere Cardiff Portland Bordeaux
Antwerp Utrecht Kyoto Memphis Granada Palermo Rotterdam Stuttgart Norwich Tucson
""".split()

COLOURS = "red blue green yellow purple black white brown pink grey".split()
FOODS = """
pizza bread rice soup cheese pasta salad fish cake honey chocolate apples bananas cherries carrots eggs noodles
pancakes potatoes tomatoes grapes pears beans milk tea coffee butter strawberries onions lemons
""".split()
ANIMALS = (
    "dog cat horse cow sheep pig duck rabbit fox bear wolf lion tiger frog mouse owl bee goat hen elephant".split()
)
PETS = "dog cat rabbit hamster parrot horse turtle goldfish mouse pony".split()
JOBS = """
baker teacher doctor nurse farmer painter driver cook singer writer gardener pilot lawyer carpenter plumber dentist
engineer student waiter dancer
""".split()
SPORTS = "tennis football chess golf swimming running basketball volleyball skiing dancing rowing hockey".split()
THINGS = """
car bike hat coat bag book cup lamp chair table pen ball box boat house door shirt umbrella scarf guitar watch phone
clock key ring kite drum camera wallet basket bottle ladder mirror pillow blanket
""".split()
PLURALS = """
apples books pens cups boxes stamps coins flowers oranges cards shirts chairs balls cookies pencils shells eggs
marbles lemons candles sweets cakes pears tickets keys toys plates bananas photos stickers hats fish dogs cats eggs
buttons bottles roses
""".split()
GENRES = "jazz rock folk pop classical blues".split()
ROOMS = "kitchen bedroom bathroom office hall garage garden cellar".split()
LANGUAGES = "French German Italian Spanish Polish Greek Swedish Dutch Russian Japanese".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()

HELD_OUT_SHARE = 10
"""One of so many pairs of numbers is kept for the evaluation."""

ONSETS = "b bl br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh st t th tr v w y z".split()
VOWELS = "a e i o u ai ea ee ie oo ou".split()
CODAS = ["", "", "", "l", "n", "r", "s", "t", "m", "ck", "nd", "rt", "x", "ss"]


def invented_word(rng: random.Random, syllables: int) -> str:
    """A word that no dictionary has, most likely."""
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)) + rng.choice(CODAS)


COMMON_NOUNS = 2000
"""Of WordNet, for names and things of the training."""


@functools.cache
def known_names(file: int) -> tuple[str, ...]:
    """Single words of WordNet's persons or places, without those that the evaluation has."""
    kept = {*HELD_OUT_NAMES, *HELD_OUT_CITIES}
    return tuple(
        name
        for name in proper_names(file)
        if name.isalpha() and name[1:].islower() and 3 <= len(name) <= 12 and name not in kept
    )


def some_name(rng: random.Random, held_out: bool) -> str:
    """A first name; two in three of the training's are invented or any words, so that names are copied, not recalled."""
    if held_out:
        return rng.choice(HELD_OUT_NAMES)
    draw = rng.random()
    if draw < 0.25:
        return invented_word(rng, rng.choice((1, 2, 2, 3))).capitalize()
    if draw < 0.4:
        return rng.choice(common("n", COMMON_NOUNS)).capitalize()
    return rng.choice(known_names(PERSON_FILE) if draw < 0.65 else NAMES)


def some_city(rng: random.Random, held_out: bool) -> str:
    """A city; half of the training's are invented or any place of WordNet."""
    if held_out:
        return rng.choice(HELD_OUT_CITIES)
    draw = rng.random()
    if draw < 0.25:
        return invented_word(rng, rng.choice((2, 2, 3))).capitalize()
    return rng.choice(known_names(COUNTRY_FILE) if draw < 0.5 else CITIES)


NOUNS_OF_A_KIND = 1500
"""Of WordNet, the commonest."""


@functools.cache
def nouns_of(kind: str) -> tuple[str, ...]:
    """Nouns of a kind of `LEXICOGRAPHERS` that training may see, the commonest first."""
    meanings = first_meanings()
    known = (word for word in open_words("n", False) if ("n", word) in meanings)
    kinds = ((word, LEXICOGRAPHERS.get(meanings["n", word].lexicographer)) for word in known)
    return tuple(word for word, own in kinds if own == kind)[:NOUNS_OF_A_KIND]


def one_of(table: list[str], kind: str, rng: random.Random, held_out: bool) -> str:
    """A word of the table; in training half of the time any of its kind, so that words are copied, not recalled."""
    return rng.choice(table if held_out or rng.random() < 0.5 else nouns_of(kind))


def some_words(rng: random.Random, held_out: bool) -> dict[str, object]:
    """Something for every open place that a sentence may have."""
    job, noun = one_of(JOBS, "person", rng, held_out), one_of(THINGS, "thing that people made", rng, held_out)
    if not held_out and rng.random() < 0.15:
        noun = rng.choice(common("n", COMMON_NOUNS))
    return {
        "name": some_name(rng, held_out),
        "other": some_name(rng, held_out),
        "city": some_city(rng, held_out),
        "age": rng.randint(7, 99),
        "count": rng.randint(2, 60),
        "number": rng.randint(1, 999 if held_out or rng.random() < 0.85 else 99_999),
        "price": rng.choice((rng.randint(1, 99), rng.randint(100, 9999) / 100)),
        "day": rng.choice(DAYS),
        "month": rng.choice(MONTHS),
        "clock": f"{rng.randint(0, 23)}:{rng.randint(10, 59)}",
        "colour": rng.choice(COLOURS),
        "job": job,
        "a_job": article(job),
        "pet": one_of(PETS, "animal", rng, held_out),
        "animal": one_of(ANIMALS, "animal", rng, held_out),
        "thing": noun,
        "things": rng.choice(PLURALS) if noun in THINGS else plural(noun),
        "food": one_of(FOODS, "food", rng, held_out),
        "items": rng.sample(FOODS, rng.randint(2, 3)),
        "room": rng.choice(ROOMS),
        "language": rng.choice(LANGUAGES),
        "sport": rng.choice(SPORTS),
        "genre": rng.choice(GENRES),
    }


def is_held_out(first: int, second: int) -> bool:
    """Whether a pair of numbers, in either order, is kept for the evaluation."""
    low, high = sorted((first, second))
    return ((low * 7919 + high * 104729) >> 3) % HELD_OUT_SHARE == 0


def number_pair(rng: random.Random, held_out: bool, low: int, high: int) -> tuple[int, int]:
    """Two numbers of the range, from the pairs that training may see or from the others."""
    while True:
        pair = rng.randint(low, high), rng.randint(low, high)
        if is_held_out(*pair) == held_out:
            return pair
