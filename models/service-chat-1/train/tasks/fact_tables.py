"""Pairs that everybody knows."""

COLOUR_OF = {
    "snow": "white", "grass": "green", "the sky": "blue", "blood": "red", "coal": "black", "milk": "white",
    "a banana": "yellow", "a lemon": "yellow", "a carrot": "orange", "a tomato": "red", "the sun": "yellow",
    "chocolate": "brown", "a cherry": "red", "a frog": "green", "an elephant": "grey", "the sea": "blue",
}  # fmt: skip
SOUNDS = {
    "cow": "moo", "dog": "woof", "cat": "meow", "sheep": "baa", "duck": "quack", "pig": "oink", "owl": "hoot",
    "bee": "buzz", "lion": "roar", "horse": "neigh", "mouse": "squeak", "frog": "croak",
}  # fmt: skip
YOUNG = {
    "dog": "puppy", "cat": "kitten", "cow": "calf", "sheep": "lamb", "horse": "foal", "duck": "duckling",
    "bear": "cub", "hen": "chick", "goat": "kid", "pig": "piglet", "frog": "tadpole", "deer": "fawn",
}  # fmt: skip
LEGS = {"dog": 4, "cat": 4, "spider": 8, "bird": 2, "bee": 6, "horse": 4, "snake": 0, "ant": 6, "duck": 2, "cow": 4}
OPPOSITES = {
    "hot": "cold", "big": "small", "day": "night", "fast": "slow", "old": "young", "up": "down", "left": "right",
    "open": "closed", "hard": "soft", "light": "dark", "full": "empty", "rich": "poor",
    "early": "late", "long": "short",
    "happy": "sad", "wet": "dry", "strong": "weak", "good": "bad", "near": "far", "high": "low", "thick": "thin",
    "clean": "dirty", "loud": "quiet", "first": "last", "easy": "difficult", "heavy": "light", "begin": "end",
}  # fmt: skip
MANY = {
    "mouse": "mice", "child": "children", "foot": "feet", "tooth": "teeth", "man": "men", "woman": "women",
    "goose": "geese", "leaf": "leaves", "city": "cities", "box": "boxes", "baby": "babies", "knife": "knives",
    "dog": "dogs", "house": "houses", "sheep": "sheep", "wolf": "wolves", "person": "people", "book": "books",
}  # fmt: skip
PAST = {
    "go": "went", "see": "saw", "eat": "ate", "run": "ran", "buy": "bought", "write": "wrote", "sing": "sang",
    "give": "gave", "take": "took", "come": "came", "find": "found", "make": "made",
    "think": "thought", "sleep": "slept",
    "swim": "swam", "walk": "walked", "play": "played", "have": "had", "say": "said", "teach": "taught",
}  # fmt: skip
COUNTS = {
    "days are in a week": (7, "days in a week"), "months are in a year": (12, "months in a year"),
    "hours are in a day": (24, "hours in a day"), "minutes are in an hour": (60, "minutes in an hour"),
    "seconds are in a minute": (60, "seconds in a minute"),
    "letters are in the alphabet": (26, "letters in the alphabet"),
    "sides are in a triangle": (3, "sides in a triangle"), "sides are in a square": (4, "sides in a square"),
    "centimetres are in a metre": (100, "centimetres in a metre"), "seasons are in a year": (4, "seasons in a year"),
}  # fmt: skip
KINDS = {
    "animal": "dog cat horse cow fox bear wolf lion".split(),
    "fruit": "apple pear banana cherry lemon grape orange plum".split(),
    "vegetable": "carrot potato onion bean cabbage pea leek radish".split(),
    "bird": "owl duck eagle robin swan crow hen parrot".split(),
    "tool": "hammer saw drill shovel rake pliers axe wrench".split(),
    "flower": "rose tulip daisy lily violet poppy".split(),
    "instrument": "piano guitar violin flute drum trumpet harp".split(),
    "vehicle": "car bus train bike truck boat plane".split(),
}
