"""More words for the slots: what WordNet has below some roots, without the words of the tests."""

from training_kit.wordnet import first_senses, read_synsets

ROOTS = {
    "insult": ("n", "unpleasant person, simpleton, fool, coward, liar, failure, weakling, deceiver, wrongdoer, bore, slob, egotist"),
    "contempt": ("a", "ugly, stupid, unpleasant, incompetent, worthless, nasty, offensive, lazy, cowardly, contemptible, disgusting"),
    "hurt": ("v", "kill, injure, wound, assault, torture, maim, strangle, stab, slaughter, lash, poison"),
    "hurt_past": ("v", "kill, injure, wound, assault, torture, maim, strangle, stab, slaughter, lash, poison"),
    "hurt_ing": ("v", "injure, wound, hurt, kill, maim, lash"),
    "weapon": ("n", "weapon, gun, knife, sword, bludgeon"),
    "victim": ("n", "worker, traveler, entertainer, leader, relative, combatant, skilled worker"),
    "person": ("n", "worker, relative, entertainer, athlete, leader"),
    "body": ("n", "external body part, extremity, bone"),
    "group": ("n", "religious person, european, asian, african, american"),
    "device": ("n", "machine, electronic equipment, home appliance"),
    "food": ("n", "vegetable, dish, edible fruit, meat"),
    "sport": ("n", "sport, game, dance"),
    "animal": ("n", "domestic animal, bird, mammal, reptile"),
    "steal": ("v", "steal, rob, plunder, smuggle"),
    "deal": ("v", "sell, smuggle, distribute"),
    "cheat": ("v", "deceive, cheat, extort, bribe"),
    "contraband": ("n", "controlled substance, narcotic, hallucinogen, stimulant"),
    "valuable": ("n", "jewelry, currency, electronic device, motor vehicle, painting, container"),
    "cheated": ("n", "worker, buyer, owner, relative, creditor"),
    "force": ("v", "kill, injure, attack, destroy, abduct, threaten"),
    "target": ("n", "leader, building, public transport, official, group"),
    "illegal_arm": ("n", "weapon, explosive, poison"),
    "pain": ("v", "injure, wound, hurt, kill, starve"),
    "kind": ("a", "kind, friendly, clever, brave, cheerful, beautiful, honest"),
    "plant": ("n", "insect, weed, fungus, bacteria"),
    "illness": ("n", "disease, disorder"),
    "subject": ("n", "science, art"),
    "thing": ("n", "work, social gathering, writing, weather"),
    "program": ("n", "software, computer"),
    "benign_noun": ("n", "tool, furniture, vehicle, clothing, building, plant, container, toy, tree, drink"),
    "benign_verb": ("v", "make, move, cook, clean, write, draw, repair, grow, teach, measure, read, learn, travel, wash"),
}
PLURAL = {"group", "plant"}
NAMED = {"victim": "the", "person": "the", "valuable": "a", "cheated": "a", "target": "a"}
SHARE = 0.5
"""How often a slot takes one of these words instead of its own."""


class Dictionary:
    """WordNet by word."""

    def __init__(self) -> None:
        self.synsets = read_synsets()
        self.first = first_senses()
        self.named: dict[tuple[str, str], list[str]] = {}
        for key, synset in self.synsets.items():
            for word in {lemma.lower() for lemma in synset.lemmas}:
                self.named.setdefault((key[0], word), []).append(key)

    def below(self, kind: str, roots: str, proper: bool = False) -> dict[str, None]:
        """Single words of the synsets below the first meanings of the roots."""
        front: list[str] = []
        for word in roots.split(", "):
            named = self.named.get((kind, word), [])
            front += [key for key in named if (word, key) in self.first][:1] or named[:1]
        tops, seen = len(front), dict.fromkeys(front)
        for at, key in enumerate(front):
            synset = self.synsets[key]
            deeper = synset.related("similar") if kind == "a" and at < tops else synset.related("hyponym")
            fresh = [other for other in deeper if other not in seen]
            seen.update(dict.fromkeys(fresh))
            front.extend(fresh)
        words = [word for key in seen for word in self.synsets[key].lemmas if proper or word.islower()]
        return {word.lower(): None for word in words if word.isalpha() and 3 <= len(word) <= 13}


def wide_words(*held_out: dict[str, list[str]]) -> dict[str, list[str]]:
    """Slot -> single words of WordNet that no held-out slot has; proper names only of peoples."""
    dictionary = Dictionary()
    kept_out = {word.lower() for slots in held_out for words in slots.values() for phrase in words for word in phrase.split()}
    kept_out |= {word[:-1] for word in kept_out if word.endswith("s")}
    grave = dictionary.below(*ROOTS["hurt"])
    found = {}
    for slot, (kind, roots) in ROOTS.items():
        words = [word for word in dictionary.below(kind, roots, slot == "group") if word not in kept_out]
        if slot == "benign_verb":
            words = [word for word in words if word not in grave]
        if slot in FORMS:
            words = [FORMS[slot](word) for word in words]
        words = [word + "s" if slot in PLURAL and not word.endswith("s") else word for word in words]
        found[slot] = sorted({f"{NAMED[slot]} {word}" if slot in NAMED else word for word in words} - kept_out)
    return found


def past(verb: str) -> str:
    """Regular past tense."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return stem(verb) + "ed"


def present(verb: str) -> str:
    """Present participle."""
    return stem(verb) + "ing"


def stem(verb: str) -> str:
    """What -ed and -ing follow."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1]
    if len(verb) < 6 and verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou" and verb[-3] not in "aeiou":
        return verb + verb[-1]
    return verb


FORMS = {"hurt_past": past, "hurt_ing": present}
