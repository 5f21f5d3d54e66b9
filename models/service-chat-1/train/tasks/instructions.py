"""Doing as told: names and manners from the system message, one word, repeating, greeting."""

import functools
import random

from ..conversation import Example, assistant, system, user
from ..lexicon import is_kept, synsets
from ..tables import ANIMALS, FOODS, some_name, some_words
from ..wording import casual, say
from .facts import fact_parts, yes_or_no

PERSONA = (
    "(You are|Your name is|You are called|You are an assistant called|You are an assistant named) {name}.",
    "(In this chat you are|Here your name is|You are a robot called|Today you are called) {name}.",
    "You are {name}, a (helpful|friendly|polite|cheerful|patient) (assistant|guide|robot|helper|teacher).",
    "(Call yourself|Answer as|Speak as|You go by the name) {name}.",
)
HELD_OUT_PERSONA = ("In this talk your name is {name}.", "You are a robot with the name {name}.")
WHO = (
    "(Who are you|What is your name|What's your name|What are you called|Tell me your name|Introduce "
    "yourself|Who is this|With whom do I talk|Say who you are|Whom do I talk to|Who is speaking|Who is there|May I "
    "ask your name|And you are|What should I call you|Who is writing|Do you have a name|who r u|Who is answering me|"
    "And who are you|Which name do you have|Whom am I chatting with|Who is on the other end|Who am I speaking with|"
    "Who am I writing to|Whose chat is this)?"
)
HELD_OUT_WHO = "Say, who am I talking to?"
ONE_WORD = (
    "(Answer in one word|Answer with one word|Use one word only|Reply with a single word|One word "
    "answers only|Your answers have one word|All answers are one word|Just a single word)."
)
VERDICT = (
    "(Answer yes or no|Yes or no|Only yes or no|Just yes or no|Say yes or no|Answer only yes or no|Answer with yes or"
    " no|Reply yes or no)"
)
HELD_OUT_VERDICT = "I want a yes or a no"
HELD_OUT_ONE_WORD = "All your answers have a single word."
PHRASES = (
    "the {colour} {thing}",
    "I like {food}",
    "{name} is {a_job}",
    "{name} lives in {city}",
    "the {animal} eats {food}",
    "{food} and {food2}",
    "good morning, {name}",
    "we go to {city}",
    "{name} has a {colour} {thing}",
    "no more {food}",
    "three {things} for {name}",
    "the {animal} and the {thing}",
)


def persona(rng: random.Random, held_out: bool) -> Example:
    """The name that the system message gives."""
    name = some_name(rng, held_out)
    told = say(rng.choice(HELD_OUT_PERSONA if held_out else PERSONA), rng, name=name)
    asked = HELD_OUT_WHO if held_out else casual(say(WHO, rng), rng)
    return Example([system(told), user(asked), assistant(f"I am {name}.")], expect={"contains": name})


def one_word(rng: random.Random, held_out: bool) -> Example:
    """A fact as a bare word, because the system message or the question wants it."""
    if rng.random() < 0.3:
        return bare_verdict(rng, held_out)
    asked, _, value = fact_parts(rng, held_out)
    rule = HELD_OUT_ONE_WORD if held_out else say(ONE_WORD, rng)
    answer = assistant(value[0].upper() + value[1:])
    expect = {"text": value}
    if rng.random() < 0.6:
        return Example([system(rule), user(asked), answer], expect=expect)
    text = f"{rule} {asked}" if rng.random() < 0.5 else f"{asked} {rule}"
    return Example([user(text), answer], expect=expect)


def bare_verdict(rng: random.Random, held_out: bool) -> Example:
    """Yes or no and nothing else."""
    example = yes_or_no(rng, held_out)
    asked, verdict = example.messages[0]["content"], example.expect["begins"]
    rule = HELD_OUT_VERDICT if held_out else say(VERDICT, rng)
    text = rng.choice((f"{rule}: {asked}", f"{asked} {rule}."))
    return Example([user(text), assistant(f"{verdict}.")], expect={"text": verdict})


@functools.cache
def sentences(held_out: bool) -> tuple[str, ...]:
    """WordNet's examples of how words are used, of three to eight plain words."""
    examples = (text for synset in synsets().values() for text in synset.examples)
    plain = (text for text in examples if text.replace(" ", "").isalpha() and text.isascii())
    return tuple(text for text in plain if 3 <= len(text.split()) <= 8 and is_kept(text) == held_out)


def phrase(rng: random.Random, held_out: bool) -> str:
    """A few words to copy."""
    if rng.random() < 0.35:
        return rng.choice(sentences(held_out))
    words = some_words(rng, held_out) | {"food2": rng.choice(FOODS)}
    return rng.choice(PHRASES).format(**words)


def repeating(rng: random.Random, held_out: bool) -> Example:
    """The same words again, once or some times."""
    text = phrase(rng, held_out)
    if rng.random() < 0.25:
        count = rng.randint(2, 3)
        word = rng.choice((some_name(rng, held_out), rng.choice(FOODS), rng.choice(ANIMALS)))
        spoken = ("two", "three")[count - 2]
        pattern = (
            "I want you to say {w} {n} times."
            if held_out
            else "(Write|Say|Repeat|Please say|Now write|You say) {w} {n} times."
        )
        answer = " ".join([word] * count)
        return Example([user(say(pattern, rng, w=word, n=spoken)), assistant(answer)], expect={"text": answer})
    pattern = (
        "I want you to say this: {t}"
        if held_out
        else "(Repeat after me|Repeat|Say|Say this|Copy|Write|Please say|Now say this|I want to hear|You say): {t}"
    )
    return Example([user(say(pattern, rng, t=text)), assistant(text)], expect={"text": text})


def greeting(rng: random.Random, held_out: bool) -> Example:
    """A greeting for somebody."""
    name = some_name(rng, held_out)
    word, reply = rng.choice(
        (
            ("greet", "Hello, {n}!"),
            ("say hello to", "Hello, {n}!"),
            ("say goodbye to", "Goodbye, {n}!"),
            ("wish a good morning to", "Good morning, {n}!"),
            ("thank", "Thank you, {n}!"),
        )
    )
    pattern = (
        "{w} my friend {n}, will you?"
        if held_out
        else (
            "[(Please|Now|Could you|Can you|Would you|I want you to) ]{w} [my (friend|brother|sister|boss|aunt|guest|new"
            " neighbour) ]{n}[, please| for me| from me| now]."
        )
    )
    text = say(pattern, rng, w=word, n=name)
    return Example([user(text[0].upper() + text[1:]), assistant(reply.format(n=name))], expect={"contains": name})
