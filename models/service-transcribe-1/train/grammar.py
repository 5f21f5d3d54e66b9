"""Everyday sentences from templates: what people ask, tell and order."""

import random
import re

_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()

SLOTS = {
    "name": "Mary John Anna Peter Susan David Linda Thomas Emma Robert Julia Michael Sarah James Alice Henry Laura George Helen Paul Kate Daniel Rachel Simon Clara Martin Sophie Andrew Grace Edward Nancy Frank Diana Oscar Martha Victor Irene Walter Rose Philip Jane Arthur Lucy Oliver Ruth Samuel Eva Richard Nora Charles".split(),
    "city": "London|Paris|New York|Berlin|Chicago|Rome|Tokyo|Madrid|Boston|Dublin|Sydney|Vienna|Oslo|Toronto|Moscow|Cairo|Lisbon|Seattle|Denver|Athens|Prague|Houston|San Francisco|Edinburgh|Geneva|Amsterdam|Los Angeles|Washington".split("|"),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "month": "January February March April May June July August September October November December".split(),
    "food": "bread|cheese|rice|chicken soup|a salad|an apple pie|fried eggs|pasta|some fish|a sandwich|potatoes|pizza|a bowl of cereal|grilled vegetables|roast beef|chocolate cake|ice cream|fresh fruit|a hamburger|pancakes|tomato sauce|beans|butter|honey|mushrooms|onions|strawberries|a glass of milk|orange juice|hot tea|black coffee|cold water|red wine|beer".split("|"),
    "thing": "book|phone|key|letter|camera|car|bicycle|computer|jacket|umbrella|ticket|wallet|table|chair|lamp|clock|bag|hat|mirror|picture|window|door|radio|guitar|piano|knife|bottle|box|blanket|pillow|newspaper|map|watch|ring|coat|shirt|pair of shoes|notebook|pencil|printer|keyboard|screen|engine|ladder|hammer|bucket|basket|candle|suitcase|passport".split("|"),
    "place": "kitchen|garden|office|station|airport|school|hospital|library|market|restaurant|museum|park|bank|hotel|church|theatre|beach|village|farm|factory|bridge|harbor|forest|river|mountain|post office|supermarket|bakery|bathroom|bedroom|basement|garage|street corner|town hall|swimming pool|train".split("|"),
    "adjective": "new old small large red green blue white black heavy light broken cheap expensive beautiful strange quiet noisy clean dirty warm cold soft hard dark bright empty full strong weak famous useful dangerous simple wooden golden tiny huge round narrow deep sharp smooth".split(),
    "animal": "dog cat horse bird cow sheep rabbit fox mouse lion elephant tiger bear wolf monkey snake frog duck chicken goose owl eagle fish whale dolphin bee spider squirrel deer pig goat donkey".split(),
    "weather": "rain|snow|wind|fog|sunshine|thunder|clouds|storms|heavy rain|light snow|strong wind|clear skies|a cold front|hail".split("|"),
    "job": "teacher doctor nurse driver farmer lawyer engineer baker painter soldier sailor writer singer actor waiter pilot scientist carpenter plumber secretary manager student professor journalist judge policeman cook gardener librarian mechanic".split(),
    "person": "my brother|my sister|his mother|her father|the children|our neighbor|your friend|the old man|the young woman|their uncle|my aunt|the boss|a stranger|the boy|the girl|my wife|her husband|the captain|the king|our guests|nobody|everybody|somebody|his grandfather|her grandmother".split("|"),
    "subject": "I you we they he she".split(),
    "past": "bought|lost|found|sold|broke|repaired|painted|carried|opened|closed|forgot|wanted|borrowed|cleaned|dropped|hid|stole|moved|watched|noticed|described|ordered|returned|packed|needed|loved|hated|washed|touched|threw away".split("|"),
    "infinitive": "go home|eat dinner|learn English|write a letter|play music|cook something|read a book|take a walk|drive to work|call the doctor|watch a movie|clean the house|feed the animals|buy some food|catch the train|visit a friend|send a message|make breakfast|fix the computer|wash the dishes|see the ocean|climb the mountain|take pictures|stay in bed|leave early|sleep longer|open the window|turn on the light|lock the door|ask a question|tell the truth|change the subject|sing a song|dance all night|paint the fence|swim in the lake".split("|"),
    "time": ["{hour} o'clock", "half past {hour}", "{hour} thirty", "quarter to {hour}", "{hour} fifteen", "noon", "midnight"],
    "hour": _ONES[:12],
    "small": _ONES[1:] + _TENS,
    "number": ["{tens} {digit}", "{digit} hundred", "{digit} hundred and {tens} {digit}", "{digit} thousand", "{small}", "{small}"],
    "tens": _TENS,
    "digit": _ONES[:9],
    "unit": "minutes hours days weeks months years miles kilometers dollars euros percent degrees pounds people meters seconds times".split(),
    "when": "yesterday|today|tomorrow|this morning|last night|next week|on {day}|in {month}|two days ago|every day|at {time}|after lunch|before dinner|a long time ago|right now|tonight|this weekend|last year|soon|later".split("|"),
    "manner": "quickly slowly carefully quietly suddenly happily badly perfectly easily immediately usually always never often really probably certainly gently loudly politely".split(),
    "color": "red green blue yellow white black brown gray orange purple pink silver".split(),
    "feeling": "happy|sad|tired|angry|hungry|thirsty|bored|afraid|surprised|lonely|proud|sick|nervous|excited|sorry|ready|late|busy|alone|worried".split("|"),
    "sight": "the sun|the moon|a bright star|the ocean|a storm|a rainbow|the old castle|a small boat|an empty road|the city lights|a flock of birds|a steam train|a hot air balloon|the snowy mountains|a sailing ship|a burning house|a field of flowers".split("|"),
}

TEMPLATES = """
what time is it in {city}|what is the weather like in {city} {when}|there will be {weather} in {city} {when}
please bring me {food} and {food}|I would like {food} with {food} please|can I have {food}|we had {food} for dinner {when}
{subject} {past} the {adjective} {thing} {when}|{subject} {past} a {adjective} {thing} in the {place}|{name} {past} {name}'s {thing} {when}
where is the {place}|how do I get to the {place}|the {place} is next to the {place}|turn left at the {place} and go straight on
my name is {name} and I am from {city}|{name} lives in {city} and works as a {job}|{name} wants to be a {job}|have you met {name} the {job}
I have to {infinitive} {when}|do you want to {infinitive}|{person} wanted to {infinitive} but it was too late|let us {infinitive} {when}|I don't want to {infinitive}|he could not {infinitive} because of the {weather}
the {animal} is bigger than the {animal}|a {adjective} {animal} ran across the {place}|the {animal} sat on the {thing}|have you ever seen a {adjective} {animal}
it takes {number} {unit} to walk to the {place}|she paid {number} dollars for the {thing}|there are {number} {unit} in it|he waited for {number} {unit}|{number} plus {number} is {number}
set an alarm for {time}|wake me up at {time}|remind me to {infinitive} {when}|the train to {city} leaves at {time}|the meeting starts at {time} on {day}
play some music in the {place}|turn off the light in the {place}|call {name} {when}|send a message to {name}|open the {adjective} {thing}
{person} was very {feeling} {when}|I am so {feeling} that I could {infinitive}|are you {feeling}|why is {person} so {feeling}|don't be {feeling}
the {thing} on the {thing} is {color}|I like the {color} {thing} better than the {color} one|her {thing} was {adjective} and {adjective}
{person} looked at {sight} {when}|we saw {sight} from the {place}|{sight} over the {place}|we could see {sight} and {sight}
thank you very much for the {thing}|I am sorry I {past} your {thing}|excuse me is this your {thing}|good morning {name} how are you {when}
they {manner} {past} the {thing} and went back to the {place}|{name} {manner} opened the door and looked into the {place}|you should {manner} {infinitive}
{name} was born in {month} nineteen {tens} {digit}|on {day} the {digit} of {month} we went to {city}|I will be there on {day} at {time}
if it rains {when} we will stay in the {place}|when I was {small} years old I lived near the {place}|after {number} {unit} they {past} the {thing}
who {past} my {thing}|which {thing} did {name} buy in {city}|what did {person} say about the {thing}|how much is the {adjective} {thing}|how many {unit} are left
""".strip().replace("\n", "|").split("|")

HELD_OUT_TEMPLATES = """
could you tell {name} that the {thing} is in the {place}|{person} told {name} a story about a {adjective} {animal} and a {thing}
nobody knows why the {job} left his {thing} at the {place}|every {day} {name} meets the {job} near the {place}
is there any {weather} expected around {city} {when}|our flight from {city} to {city} was delayed by {number} {unit}
I think {food} tastes better than {food}|she asked the {job} to {infinitive} before {time}|both the {animal} and the {animal} were {feeling}
put the {color} {thing} beside the {adjective} {thing}|without {sight} the {place} looked {adjective}
""".strip().replace("\n", "|").split("|")


def make_sentence(source: random.Random, templates: list[str]) -> str:
    """A template whose slots are filled until none is left."""
    text = source.choice(templates)
    while "{" in text:
        text = re.sub(r"\{(\w+)\}", lambda slot: source.choice(SLOTS[slot[1]]), text)
    return text
