"""What people tell of themselves and of others, and how it is asked for."""

# Told in training and in the evaluation, acknowledged, asked in both, answered; {v} is what is remembered.
TOLD = {
    "name": (
        (
            "(My name is {v}|I am {v}|I am called {v}|You can call me {v}|I'm {v}|Call me {v}|Hi, I am {v}|"
            "Hello, my name is {v}|The name is {v}|I go by {v}|Everybody says {v} to me|Write down my name: "
            "{v})[.|!]"
        ),
        "People call me {v}.",
        "(Nice to meet you, {v}!|Hello, {v}!)",
        (
            "(What is my name|What's my name|Do you remember my name|Who am I|How am I called|(ASK) (my name|"
            "what my name is|who I am))?"
        ),
        "Could you tell me what I am called?",
        "Your name is {v}.",
    ),
    "city": (
        (
            "(I live in {v}|My house is in {v}|Now I live in {v}|I am from {v}|My home is in {v}|I come from "
            "{v}|I moved to {v}|My room is in {v}|{v} is my city|I work and live in {v}|My family and I live "
            "in {v})."
        ),
        "My flat is in {v}.",
        "{v} is a nice place.",
        (
            "(Where do I live|Where am I from|Which city do I live in|In which city do I live|(ASK) (my city|"
            "where I am from|where my home is|which city I live in))?"
        ),
        "Could you tell me where I live?",
        "You live in {v}.",
    ),
    "colour": (
        (
            "(My favourite colour is {v}|The best colour is {v}|I like {v} better than other colours|I like "
            "the colour {v}|The colour that I like best is {v}|My favorite color is {v}|For me the best "
            "colour is {v}|I want everything in {v}|My colour is {v}|{v} is the colour for me)."
        ),
        "No colour is better than {v}.",
        "{v} is a nice colour.",
        (
            "(What is my favourite colour|Which colour do I like|What colour do I like|What's my favorite "
            "color|(ASK) (my favourite colour|which colour I like|the colour that I like best))?"
        ),
        "Could you tell me which colour I like best?",
        "Your favourite colour is {v}.",
    ),
    "food": (
        (
            "(I like {v}|I love {v}|Nothing is better than {v}|For lunch I like {v}|My favourite food is {v}|"
            "I like to eat {v}|I want {v} every day|{v} is the best|Give me {v} and I am happy|For dinner I "
            "eat {v}|I cannot live without {v})."
        ),
        "For me nothing tastes like {v}.",
        "I hear that {v} can be very good.",
        (
            "(What is my favourite food|What do I like to eat|Which food do I like|(ASK) (my favourite food|"
            "what I like to eat|which food I like))?"
        ),
        "Could you tell me what food I like best?",
        "You like {v}.",
    ),
    "job": (
        (
            "(I work as {a}|I earn my money as {a}|I am {a}|My job is {a}|I was trained as {a}|For a living "
            "I am {a}|I have been {a} for years|In my job I am {a}|At work I am {a})."
        ),
        "By trade I am {a}.",
        "That must be an interesting job.",
        (
            "(What is my job|What do I do|What is my work|What do I work as|(ASK) (my job|what I work as|"
            "what my work is))?"
        ),
        "Could you tell me what my job is?",
        "You are {a}.",
    ),
    "age": (
        (
            "(I am {v} years old|I turned {v} this year|I'm {v}|My age is {v}|I am {v}|This year I became "
            "{v}|Today I am {v}|Soon I am no longer {v}|On Monday I turned {v})."
        ),
        "Last week I turned {v}.",
        "{v} is a good age.",
        "(How old am I|What is my age|(ASK) (how old I am|what my age is))?",
        "Could you tell me my age?",
        "You are {v} years old.",
    ),
    "sport": (
        (
            "(I do {v}|I like {v}|My favourite sport is {v}|My hobby is {v}|Each day I do {v}|On Sundays I "
            "enjoy {v}|{v} is my sport|I am good at {v}|I spend my evenings with {v})."
        ),
        "Every week I enjoy {v}.",
        "{v} is good for your health.",
        (
            "(Which sport do I like|What is my favourite sport|What sport do I like|(ASK) (my favourite "
            "sport|what sport I like|what my hobby is))?"
        ),
        "Could you tell me which sport I like?",
        "Your sport is {v}.",
    ),
    "pet": (
        (
            "(I have {a} (named|called) {n}|My {v} is called {n}|The name of my {v} is {n}|{n} is my {v}|I "
            "live with {a}, {n}|At my house there is {a} called {n}|I feed {a}: {n})."
        ),
        "At home there is {a}, {n}.",
        "{n} is a nice name for {a}.",
        (
            "(What is the name of my {v}|What is my {v} called|What's my {v}'s name|(ASK) (what my {v} is "
            "called|how my {v} is called|my {v}'s name))?"
        ),
        "Could you tell me the name of my {v}?",
        "Your {v} is called {n}.",
    ),
    "sister": (
        (
            "(My sister is called {v}|My sister's name is {v}|The name of my sister is {v}|I have a sister, {v}|{v} is"
            " my sister|I have a sister called {v}|My sister {v} is here)."
        ),
        "There is {v}, my sister.",
        "{v} is a nice name.",
        (
            "(What is my sister's name|How is my sister called|Who is my sister|What is the name of my sister|(ASK) (my"
            " sister's name|who my sister is|what my sister is called))?"
        ),
        "Could you tell me how my sister is called?",
        "Your sister is called {v}.",
    ),
    "brother": (
        (
            "(My brother is called {v}|My brother's name is {v}|The name of my brother is {v}|I have a brother, {v}|{v}"
            " is my brother|I have a brother called {v}|My brother {v} is here)."
        ),
        "There is {v}, my brother.",
        "{v} is a nice name.",
        (
            "(What is my brother's name|How is my brother called|Who is my brother|What is the name of my brother|(ASK)"
            " (my brother's name|who my brother is|what my brother is called))?"
        ),
        "Could you tell me how my brother is called?",
        "Your brother is called {v}.",
    ),
    "car": (
        (
            "(My car is {v}|I have a {v} car|I drive a {v} car|I bought a {v} car|The colour of my car is {v}|We have a"
            " car, a {v} one|I have a car that is {v})."
        ),
        "Outside stands my {v} car.",
        "A {v} car, how nice.",
        (
            "(What colour is my car|Which colour has my car|What is the colour of my car|(ASK) (what colour my car"
            " is|the colour of my car))?"
        ),
        "Could you tell me the colour of my car?",
        "Your car is {v}.",
    ),
    "animal": (
        (
            "(My favourite animal is the {v}|The animal I like best is the {v}|I like the {v} best of all animals|No"
            " animal is nicer than the {v}|Of all animals I love the {v}|My favorite animal is the {v})."
        ),
        "Of the animals I prefer the {v}.",
        "The {v} is a fine animal.",
        (
            "(What is my favourite animal|Which animal do I like|What's my favorite animal|Which animal do I like"
            " best|(ASK) (my favourite animal|which animal I like best))?"
        ),
        "Could you tell me which animal I prefer?",
        "Your favourite animal is the {v}.",
    ),
    "birthday": (
        (
            "(My birthday is in {v}|I was born in {v}|I have birthday in {v}|In {v} I celebrate my birthday|{v} is the"
            " month of my birthday|I get one year older in {v})."
        ),
        "My birthday party is in {v}.",
        "{v} is a good month.",
        (
            "(When is my birthday|In which month was I born|In which month is my birthday|What month is my birthday"
            " in|(ASK) (when my birthday is|the month of my birthday))?"
        ),
        "Could you tell me the month I was born in?",
        "Your birthday is in {v}.",
    ),
    "day": (
        (
            "(I have a meeting on {v}|My exam is on {v}|On {v} I have a meeting|I must be at work on {v}|There is an"
            " appointment on {v}|I meet my doctor on {v}|On {v} I go to the dentist)."
        ),
        "{v} is the day of my meeting.",
        "I hope that {v} goes well.",
        (
            "(When is my (meeting|appointment|exam)|On which day is my (meeting|appointment|exam)|What day do I have to"
            " be there|(ASK) (when my appointment is|the day of my meeting))?"
        ),
        "Could you tell me on which day it is?",
        "It is on {v}.",
    ),
}
INTRODUCED = (
    (
        "(Hi, I am|My name is|I'm|Hello, I'm|I am called|Hello! My name is) {name} and I (live in|am from|come from)"
        " {city}."
    ),
    "(Hi, I am|My name is|I'm|I am) {name}, I am {age} years old and I (live in|come from) {city}.",
    "(Hi, I am|My name is|I'm|I am) {name} and I (work as|am) {a_job}[ in {city}].",
    "(Hi, I am|My name is|I'm|I am) {name} and I (like|love) {food}.",
    "(Hi, I am|My name is|I'm|I am) {name}, {age} years old.",
    "(I am|I'm) {name} from {city}.",
    "(I am|I'm) {name}, {a_job} from {city}, and I am {age}.",
)
ASK = "(Can you tell me|Do you know|Do you remember|Tell me|Please tell me|Say)"
UNKNOWN = {
    "name": "your name",
    "city": "where you live",
    "colour": "your favourite colour",
    "food": "what you like to eat",
    "job": "your job",
    "age": "your age",
    "sport": "your sport",
    "pet": "the name of your {v}",
    "sister": "your sister's name",
    "brother": "your brother's name",
    "car": "the colour of your car",
    "animal": "your favourite animal",
    "birthday": "when your birthday is",
    "day": "when it is",
}

# Sentences of a text, questions about them in training and in the evaluation, answers, and what is asked for.
READ = (
    (
        "{n} (lives in|comes from) {v}.",
        (
            "(Where does {n} live|Where is {n} from|Which city does {n} live in|Tell me where {n} lives|In "
            "which city does {n} live|Which place does {n} come from|What city is {n} from)?"
        ),
        "In which place does {n} live?",
        "{n} lives in {v}.",
        "city",
    ),
    (
        "{n} (works as|is) {a}.",
        (
            "(What is {n}'s job|What does {n} work as|What is the job of {n}|Tell me {n}'s job|What does {n} "
            "do for a living|Which job does {n} do|Which work has {n})?"
        ),
        "What work does {n} do?",
        "{n} is {a}.",
        "job",
    ),
    (
        "{n} (likes|loves|eats) {v}.",
        (
            "(What does {n} like|What does {n} like to eat|What food does {n} like|Tell me what {n} likes|"
            "What would {n} eat|Which meal does {n} like|What food is good for {n})?"
        ),
        "Which food does {n} like?",
        "{n} likes {v}.",
        "food",
    ),
    (
        "{n} is {v} years old.",
        (
            "(How old is {n}|What is {n}'s age|Tell me how old {n} is|What age is {n}|What age has {n}|Say "
            "the age that {n} has)?"
        ),
        "What is the age of {n}?",
        "{n} is {v} years old.",
        "age",
    ),
    (
        "{n} has a {c} {t}.",
        (
            "(What colour is {n}'s {t}|What is the colour of {n}'s {t}|Tell me the colour of {n}'s {t}|Which "
            "colour is the {t} that {n} has|The {t} of {n} has what colour|What colour has {n}'s {t})?"
        ),
        "Which colour has the {t} of {n}?",
        "{n}'s {t} is {c}.",
        "thing",
    ),
    (
        "{n} enjoys {v}.",
        (
            "(Which sport does {n} enjoy|What sport does {n} like|What is {n}'s sport|Which sport is it that "
            "{n} does|What does {n} do for sport|As a sport, what does {n} like|What sport does {n} do)?"
        ),
        "What does {n} do as a sport?",
        "{n} enjoys {v}.",
        "sport",
    ),
)
