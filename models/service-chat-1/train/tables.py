"""Names, places and things of the conversations. What stands in a HELD_OUT table is in no training text."""

import random

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


def some_name(rng: random.Random, held_out: bool) -> str:
    """A first name; two in five of the training's are invented, so that names are copied and not recalled."""
    if held_out:
        return rng.choice(HELD_OUT_NAMES)
    if rng.random() < 0.4:
        return invented_word(rng, rng.choice((1, 2, 2, 3))).capitalize()
    return rng.choice(NAMES)


def some_city(rng: random.Random, held_out: bool) -> str:
    """A city; a third of the training's are invented."""
    if held_out:
        return rng.choice(HELD_OUT_CITIES)
    if rng.random() < 0.33:
        return invented_word(rng, rng.choice((2, 2, 3))).capitalize()
    return rng.choice(CITIES)


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
