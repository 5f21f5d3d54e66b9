"""Records, the sentences that tell of them, and how their JSON is asked for."""

# A kind of record: sentences of it in training and in the evaluation, and by slot the names that its field may have.
RECORDS = {
    "person": (
        (
            "{name} is {age} years old and lives in {city}. {name} works as {a_job}.",
            "{name}, {age}, is {a_job} from {city}.",
            "My friend {name} lives in {city}, is {age} and works as {a_job}.",
            "{name} is {a_job} in {city} and is {age} years old.",
            "The {job} called {name}, {age} years old, comes from {city}.",
            "(From|At home in) {city}: {name}, {a_job} who is {age}.",
            "The {job} {name} is {age} and has a flat in {city}.",
            "(We know|I met|Here is) {name} from {city}, {age} years of age, {a_job}.",
            "At {age}, {name} is {a_job} in {city}.",
            "{city} is the home of {name}, who is {age} and {a_job}.",
        ),
        (
            "In {city} there is {a_job} of {age} years whose name is {name}.",
            "Meet {name}: {a_job}, {age} years, home in {city}.",
        ),
        {
            "name": ("name", "person", "first_name"),
            "age": ("age", "years"),
            "city": ("city", "town", "place"),
            "job": ("job", "profession"),
        },
    ),
    "order": (
        (
            "{name} orders {count} {colour} {things}.",
            "{name} wants to buy {count} {colour} {things}.",
            "Please send {count} {colour} {things} to {name}.",
            "{name} from {city} would like {count} {colour} {things}.",
            "{count} {colour} {things} are for {name}.",
            "(We sold|They sold|We sent) {name} {count} {colour} {things}.",
            "(Pack|Bring|Take) {count} {colour} {things} for {name}.",
            "The customer {name} gets {count} {things} in {colour}.",
            "From {name} we have an order: {count} {colour} {things}.",
            "{name} asks for {things}, {colour} ones, {count} of them.",
        ),
        ("An order of {count} {colour} {things} came from {name}.", "{count} {colour} {things} go to {name}, please."),
        {
            "name": ("name", "customer", "buyer"),
            "count": ("count", "quantity", "number"),
            "colour": ("colour", "color"),
            "things": ("item", "product", "article"),
        },
    ),
    "pet": (
        (
            "{name} has a {colour} {pet} called {other}.",
            "{name} owns a {pet} named {other}. It is {colour}.",
            "The {colour} {pet} of {name} is called {other}.",
            "{other}, a {colour} {pet}, (belongs to|lives with) {name}.",
            "{name} loves a {colour} {pet} with the name {other}.",
            "The name of the {pet} of {name} is {other}, and it is {colour}.",
            "Look at {other}: a {colour} {pet} that {name} has.",
            "My {pet} {other} is {colour}, says {name}.",
        ),
        ("{other} is the {colour} {pet} of {name}.", "{name} feeds {other}, a {colour} {pet}."),
        {
            "name": ("owner", "person"),
            "pet": ("animal", "kind", "pet"),
            "colour": ("colour", "color"),
            "other": ("name", "pet_name"),
        },
    ),
    "event": (
        (
            "{name} meets {other} in {city} on {day}.",
            "On {day} {name} meets {other} in {city}.",
            "{name} and {other} meet on {day} in {city}.",
            "{name} (has a talk|has lunch|is) with {other} in {city} on {day}.",
            "(This|Next) {day}, {name} sees {other} in {city}.",
            "{name} invites {other} to {city} for {day}.",
            "In {city}, on {day}, {name} waits for {other}.",
            "The plan: {name}, {other}, {city}, {day}.",
        ),
        ("The meeting of {name} with {other} is on {day}, in {city}.",),
        {
            "name": ("name", "host", "person"),
            "other": ("guest", "friend"),
            "city": ("city", "place"),
            "day": ("day", "date"),
        },
    ),
    "shopping": (
        (
            "{name} buys {list} in {city}.",
            "{name} needs {list}.",
            "{name} puts {list} into the basket.",
            "{name} (pays for|asks for|would like|has bought|brings|eats) {list}.",
            "(Buy|Get|Bring) {list} for {name}.",
            "In the basket of {name} there are {list}.",
            "{list}: that is what {name} needs.",
            "The shop sold {list} to {name}.",
        ),
        ("On the list of {name} are {list}.",),
        {"name": ("name", "buyer", "person"), "list": ("items", "goods", "foods")},
    ),
    "birthday": (
        (
            "{name} was born on {number} {month}.",
            "The birthday of {name} is {number} {month}.",
            "{name} has birthday on {month} {number}.",
            "{name} came to the world on {number} {month}.",
            "On {number} {month} (it is the day of|we give a party for|there is cake for) {name}.",
            "Each {number} {month} {name} has a party.",
            "{name}: born {month} {number}.",
            "(Remember|Note) {number} {month}, the birthday of {name}.",
        ),
        ("We celebrate {name} each year on {number} {month}.",),
        {"name": ("name", "person"), "number": ("day",), "month": ("month",)},
    ),
}
ASK = (
    "(Give me|Return|Write|Extract) [the ]JSON with {keys}: {text}",
    "{text} (Give me|Return|Write|Extract) {keys} as JSON.",
    "(Extract|Read) {keys}[ as JSON]: {text}",
    "{text} Answer as JSON with the (fields|keys) {keys}.",
    "(I want|I would like|Find|Show me|Get) {keys} (as|like) JSON[, please]: {text}",
    "(Take|Get|Read|Find) {keys} (from|out of) this[ text]: {text}",
    "{text} (What are|Which are|Now tell me) {keys}? (JSON please|Use JSON|As JSON).",
    "JSON[ object] of {keys} (from|of) this[ sentence]: {text}",
    "(Here is a text|Text|Sentence): {text} (I want|I would like) [a ]JSON with {keys}.",
    "Fill {keys} from (this|the text|the sentence): {text}",
)
HELD_OUT_ASK = ("I need {keys} in JSON for this: {text}",)
BARE = ("{text} Answer as JSON.", "Extract the data: {text}", "Turn this into JSON: {text}", "{text}")
SYSTEM = ("(Answer with JSON|Reply in JSON|Write JSON|Extract data as JSON)[ only]: {shape}",)
