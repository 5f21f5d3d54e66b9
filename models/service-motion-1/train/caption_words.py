"""The ways in which a caption says each attribute value; an empty text says nothing. Verbs are base forms."""

import re


def split(table: dict[str, str]) -> dict[str, list[str]]:
    """Value -> its words, which "|" parts."""
    return {value: words.split("|") for value, words in table.items()}


SETTING_WORDS = split(
    {
        "ocean": (
            "ocean|sea|open water|the waves|the atlantic|open sea|water|lake|river|harbor|harbour|high seas|"
            "pacific|pacific ocean|mediterranean|blue water|waves|lagoon|fjord|seascape|choppy water|marina|"
            "rolling waves|lake water|rough sea|surf"
        ),
        "meadow": (
            "meadow|grassy field|green hills|field|countryside|grassland|park|garden|farm|valley|pasture|prairie|"
            "lawn|hill|hillside|grass|rolling hills|plains|flower field|field of flowers|wildflowers|green field|"
            "orchard|hilltop|green valley|tall grass|grassy hills|country road|farmland|flowers"
        ),
        "desert": (
            "desert|sand dunes|dunes|sahara|sandy desert|sahara desert|desert sand|hot desert|arid desert|"
            "dry desert|desert dunes|mojave|badlands|oasis|wasteland|golden dunes|sandy dunes|cactus desert|"
            "sandy plain"
        ),
        "mountains": (
            "mountains|mountain range|snowy peaks|alps|mountain landscape|peaks|mountain|rocky mountains|"
            "himalayas|andes|summit|mountain peaks|mountain pass|ridge|mountaintop|highlands|high peaks|"
            "mount fuji|volcano|snow capped mountains|rocky peaks|cliffs|snowy mountains"
        ),
        "city": (
            "city|city skyline|downtown|street|town|skyscrapers|urban street|road|metropolis|city street|"
            "busy street|avenue|highway|traffic|neon city|new york|paris|city lights|rooftops|boulevard|suburb|"
            "crossroads|town square|high street|parking lot|skyline|cityscape|tall buildings|office buildings|"
            "intersection|big city|freeway|streets"
        ),
        "forest": (
            "forest|woods|pine trees|jungle|woodland|pine forest|grove|trees|deep forest|enchanted forest|"
            "bamboo forest|birch forest|fir trees|thicket|autumn forest|dark woods|redwood forest|tall trees|"
            "fir forest|dense forest"
        ),
        "snowfield": (
            "snow field|snowy field|snowy plain|winter landscape|arctic|snow covered hills|tundra|snowy hills|"
            "antarctica|north pole|south pole|glacier|icy plain|frozen tundra|snowy landscape|white snow|"
            "snowdrift|snowy meadow|snowy countryside|frozen wasteland|polar landscape|greenland|"
            "winter wonderland|snow covered field|snowy valley|frozen plain|deep snow|frozen landscape"
        ),
        "beach": (
            "beach|seashore|sandy beach|coast|shore|tropical beach|seaside|waterfront|coastline|tropical island|"
            "island|sandy shore|seafront|oceanfront|boardwalk|lakeshore|shoreline|beach sand|sunny beach|"
            "sand by the sea|desert island"
        ),
        "space": (
            "space|outer space|the cosmos|galaxy|deep space|the stars and a ringed planet|stars|orbit|universe|"
            "solar system|planets|starfield|nebula|earth orbit|asteroid belt|the void of space|"
            "interstellar space|distant planets|a ringed planet|saturn|the planets|cosmic space"
        ),
        "sky": (
            "sky|clouds|above the clouds|high in the sky|cloudy sky|the air above the clouds|blue sky|"
            "among the clouds|the air|open sky|cloudscape|fluffy clouds|in the clouds|up in the air|"
            "high above the clouds|heavens|white clouds|sea of clouds|a sky full of clouds|sky above the clouds"
        ),
        "underwater": (
            "underwater|under the sea|seabed|bottom of the ocean|aquarium|deep underwater|coral reef|deep sea|"
            "sea bed|ocean floor|below the surface|under water|beneath the waves|undersea|seaweed|kelp forest|"
            "under the ocean|deep under the sea|fish tank|underwater cave|beneath the sea|bottom of the sea|"
            "under the waves|reef"
        ),
    }
)
PLACES_IN_VERBS = {
    value: re.compile(rf"\b(?:{words})\b")
    for value, words in {
        "underwater": "underwater|under ?water|seabed|sea floor|ocean floor|under the (?:sea|waves)|below the surface|reef",
        "sky": "sky|skies|skyward|clouds?|heavens",
        "space": "to orbit|outer space|the stars|galaxy",
        "beach": "beach|shore|seashore",
        "ocean": "ocean|sea|waves|lake|river|harbou?r|pond|swell",
        "city": "streets?|traffic|highway|city|town|downtown|pavement|sidewalk|kerb|curb|avenue",
        "meadow": "grass|lawn|meadow|fields?|garden|(?:the|a) park",
        "forest": "forest|woods|trees|jungle",
        "mountains": "mountains?|peaks?|summit",
        "desert": "desert|dunes?",
        "snowfield": "the snow|the ice",
    }.items()
}
"""Words of a verb phrase that say where the scene is; the first value that has one counts. SETTING_WORDS has more that say
no place there: "park", "the air", "rise out of the water"."""
TIME_WORDS = split(
    {
        "dawn": (
            "at dawn|at sunrise|in the early morning|dawn|sunrise|morning light|in the morning|daybreak|"
            "at daybreak|at first light|early morning|as the sun rises|break of dawn|at the break of day|"
            "on a quiet morning|one morning|morning"
        ),
        "noon": (
            "at noon|at midday|on a bright day|in the daytime|sunny day|midday|under the sun|in daylight|sunny|"
            "in broad daylight|bright sunshine|in the afternoon|on a sunny day|sunny afternoon|"
            "under a bright sun|bright daylight|summer day|in the sunshine|noon|on a clear day|daytime|by day|"
            "in full sun|on a hot day"
        ),
        "sunset": (
            "at sunset|at dusk|during golden hour|sunset|in the evening|dusk|golden hour|at twilight|"
            "as the sun sets|at sundown|sundown|evening light|evening|in the evening glow|setting sun|"
            "late evening|twilight|in the light of the setting sun|one evening"
        ),
        "night": (
            "at night|under the moon|in the moonlight|night|at midnight|under the stars|in the dark|starry night|"
            "by moonlight|at nighttime|late at night|in the middle of the night|dark night|under a starry sky|"
            "full moon|under a full moon|nighttime|after dark|midnight|on a moonlit night|in the night"
        ),
    }
)
TIME_ADJECTIVES = split(
    {
        "dawn": "early morning|sunrise|morning",
        "noon": "sunlit|sunny|bright|sun drenched",
        "sunset": "sunset|evening|twilight",
        "night": "moonlit|starlit|nighttime|midnight|night time|dark",
    }
)
"""Before the word of a setting."""
WEATHER_WORDS = split(
    {
        "clear": "clear weather|clear sky||||fine weather|good weather|cloudless",
        "rain": (
            "in the rain|rainy|it is raining|rain falling|rainy day|with rain|drizzle|light rain|raining|"
            "rain shower|rainy weather|rain|in the drizzle|through the rain|soft rain|in a light rain"
        ),
        "snow": (
            "in the snow|snowing|snowfall|during a snowstorm|snow falling|with snowflakes|blizzard|heavy snow|"
            "light snow|falling snow|snowflakes|while it snows|it is snowing|snowy weather|flurries|snowy day|"
            "snowstorm|in a snowfall|snow drifting down"
        ),
        "fog": (
            "in the fog|foggy|misty|mist|in thick fog|hazy|thick mist|dense fog|in the mist|haze|foggy weather|"
            "shrouded in fog|foggy day|fog|through the fog|in the haze|wrapped in mist"
        ),
    }
)
STORM_WORDS = (
    "during a rainstorm|stormy|downpour|heavy rain|pouring rain|thunderstorm|storm|in a storm|monsoon|"
    "raining hard|stormy weather|in heavy rain|while it pours|lightning and rain|thunder|in a wild storm"
).split("|")
CALM_WORDS = "quiet|calm|peaceful|in silence|no wind|all is quiet|very still|serene|tranquil|calm weather|silence".split("|")
WEATHER_ADJECTIVES = split(
    {
        "rain": "rainy|rain soaked|wet|drizzly",
        "snow": "snowy|wintry|snow swept",
        "fog": "foggy|misty|hazy|fog covered",
        "calm": "quiet|calm|peaceful|silent|still|serene|tranquil|sleepy|glassy",
        "storm": "stormy|storm swept|thundery|rain lashed",
    }
)
SNOWY_SETTINGS = ("mountains", "meadow", "snowfield")
""""snowy" is part of their names."""
SUBJECT_WORDS = split(
    {
        "ball": (
            "ball|beach ball|sphere|football|basketball|toy ball|soccer ball|volleyball|rubber ball|bowling ball|"
            "bouncy ball|marble|balls"
        ),
        "boat": (
            "boat|sailboat|ship|yacht|sailing boat|fishing boat|ferry|canoe|rowboat|raft|steamboat|speedboat|"
            "cruise ship|barge|motorboat|schooner|tugboat|pirate ship|vessel|catamaran|cargo ship|rowing boat|"
            "paper boat|boats|ships"
        ),
        "bird": (
            "bird|seagull|parrot|sparrow|songbird|eagle|owl|crow|raven|swallow|pigeon|dove|robin|gull|falcon|"
            "swan|duck|albatross|hummingbird|canary|finch|woodpecker|toucan|condor|birds|flock of birds|"
            "little bird|bluebird"
        ),
        "balloon": (
            "hot air balloon|balloon|air balloon|airship|blimp|party balloon|dirigible|balloons|helium balloon|"
            "toy balloon|hot air balloons"
        ),
        "car": (
            "car|automobile|sports car|taxi|vehicle|truck|van|bus|jeep|limousine|convertible|cab|race car|"
            "racing car|minivan|suv|sedan|coupe|motorcar|roadster|school bus|delivery van|fire truck|fire engine|"
            "tractor|toy car|electric car|cars|old car|taxi cab"
        ),
        "fish": (
            "fish|goldfish|tropical fish|clownfish|salmon|trout|carp|koi|angelfish|minnow|swordfish|"
            "school of fish|little fish|koi fish|reef fish"
        ),
        "tree": (
            "tree|oak|oak tree|big leafy tree|maple|birch|pine|pine tree|willow|fir|fir tree|elm|beech tree|"
            "cherry tree|chestnut tree|cedar|sapling|christmas tree|redwood|olive tree|leafy tree|maple tree|"
            "old oak|lone tree"
        ),
        "house": (
            "house|cottage|cabin|hut|home|barn|farmhouse|mansion|villa|bungalow|chalet|lodge|beach house|"
            "wooden house|country house|dwelling|little house|houses|igloo|tiny house"
        ),
        "rocket": (
            "rocket|spaceship|rocket ship|spacecraft|space rocket|starship|space probe|space capsule|toy rocket|"
            "rockets|space ship|moon rocket|cargo rocket"
        ),
        "butterfly": "butterfly|moth|butterflies|monarch butterfly|swallowtail|monarch|moths",
        "kite": "kite|paper kite|toy kite|box kite|diamond kite|stunt kite|kites|flying kite",
        "cat": (
            "cat|kitten|kitty|dog|puppy|fox|tabby|tomcat|wolf|pup|terrier|poodle|labrador|leopard|cheetah|coyote|"
            "lion|lioness|husky|bulldog|dachshund|corgi|beagle|siamese cat|house cat|stray cat|wildcat|jaguar|"
            "cats|dogs|tabby cat"
        ),
    }
)
MOVING_VERBS = split(
    {
        "boat": "sail|cruise|glide|drift|motor|steam|speed|travel|row|head out",
        "bird": "fly|soar|glide|flap|swoop|sail|race|wing its way",
        "balloon": "float|drift|fly|sail|glide|travel",
        "car": "drive|speed|race|roll|cruise|zoom|rush|dash|travel|accelerate|hurry|move",
        "fish": "swim|glide|dart|drift|move",
        "ball": "roll|move|slide|race|tumble along",
        "rocket": "fly|speed|blast|zoom|shoot|race|travel|streak",
        "butterfly": "flutter|fly|flit|drift|dance",
        "kite": "fly|glide|soar|drift|sail",
        "cat": "walk|run|stroll|trot|sprint|race|prowl|sneak|dash|hurry|jog|wander|creep",
        "tree": "move|slide",
        "house": "move|slide",
    }
)
STILL_VERBS = split(
    {
        "tree": "stand|sway|grow",
        "house": "stand|sit",
        "boat": "float|rest|be anchored|bob|be moored|lie at anchor",
        "bird": "hover|flap its wings|hover in place|sit|perch|rest",
        "balloon": "hover|hang|float in place|hang in the air|hover in place",
        "car": "be parked|stand|be stopped|sit|wait",
        "fish": "rest|float in place|hover|wait",
        "ball": "lie still|rest|sit|lie|lie on the ground",
        "rocket": "hover|stand|wait|stand ready|hang",
        "butterfly": "hover|rest|flap its wings|sit|perch",
        "kite": "hang|hover|hang in the air|hover in place",
        "cat": "stand|wait|sit|rest|sleep|lie|look around|watch",
    }
)
ANY_STILL_VERBS = "stand still|be still|be motionless|stay in place|be at rest|not move|hold still|be stationary".split("|")
RISING_VERBS = (
    "rise|ascend|go up|climb upward|take off|launch|lift off|rise into the air|float upward|shoot upward|"
    "soar upward|fly up|blast off|go straight up|move up|drift upward|climb into the sky|rise up|"
    "float up|lift into the air|float up into the air"
).split("|")
FALLING_VERBS = (
    "fall|descend|drop|come down|sink|land|plunge|tumble down|fall from the sky|float down|"
    "come in to land|dive|glide down|move down|drift down|drop down|fall down|sink down|sink slowly"
).split("|")
BOUNCING_VERBS = (
    "bounce|jump|hop|bounce up and down|leap|jump up and down|hop up and down|spring up and down|"
    "bob up and down|skip|bounce around"
).split("|")
SPINNING_VERBS = (
    "spin|rotate|twirl|turn around and around|whirl|revolve|turn in circles|spin around|spin in place|"
    "spin in circles|turn round and round|spin on the spot|rotate slowly"
).split("|")
RIGHTWARD = (
    "from left to right|to the right|left to right|rightward|towards the right|moving right|"
    "to the right side|heading right|toward the right|rightwards|going right|from the left to the right|"
    "off to the right|across from left to right|right"
).split("|")
LEFTWARD = (
    "from right to left|to the left|right to left|leftward|towards the left|moving left|to the left side|"
    "heading left|toward the left|leftwards|going left|from the right to the left|off to the left|"
    "across from right to left|left"
).split("|")
ONWARD = (
    "|||across|past|by|along|forward|onward|across the screen|across the frame|through the scene|fast|"
    "quickly|at full speed|away|swiftly|slowly|gently|at high speed|around"
).split("|")
"""Ways of moving that leave the direction open."""
CAMERA_WORDS = split(
    {
        "static": "|||static camera|still shot|fixed camera|the camera does not move|locked camera|tripod shot",
        "left": (
            "camera pans left|pan left|the camera pans to the left|panning left|camera moving left|"
            "the camera turns left|slow pan to the left"
        ),
        "right": (
            "camera pans right|pan right|the camera pans to the right|panning right|camera moving right|"
            "the camera turns right|slow pan to the right"
        ),
        "in": (
            "zoom in|camera zooms in|slow zoom in|dolly in|push in|the camera moves closer|zooming in|closing in|"
            "close up zoom"
        ),
        "out": (
            "zoom out|camera zooms out|slow zoom out|dolly out|pull back|the camera pulls away|zooming out|"
            "pulling back"
        ),
    }
)
SIZE_WORDS = split(
    {
        "small": "small|tiny|little|distant|miniature|far away|mini",
        "normal": "",
        "big": "big|large|huge|giant|enormous|massive|gigantic|great big",
    }
)
COLOUR_WORDS = split(
    {
        "red": "red|crimson|scarlet|bright red|cherry red|ruby",
        "orange": "orange|bright orange|tangerine",
        "yellow": "yellow|golden|bright yellow|lemon yellow|gold",
        "green": "green|emerald|dark green|bright green|lime green|olive green",
        "blue": "blue|navy|azure|light blue|sky blue|turquoise|deep blue|dark blue|cobalt blue",
        "purple": "purple|violet|lavender|lilac|deep purple",
        "pink": "pink|magenta|rose pink|hot pink|pale pink",
        "white": "white|ivory|snow white|pure white|cream",
        "black": "black|dark|coal black",
        "brown": "brown|wooden|chestnut|chocolate brown|tan",
        "gray": "gray|grey|silver|silvery|dark gray|light grey",
    }
)
FILLERS = (
    "beautiful|cinematic|4k|high quality|a video of|stylised|vector art|animation of|happy|old|lovely|"
    "amazing|wide shot|slow motion|minimal|flat design|detailed|epic|cute|gentle|lonely|majestic|shiny|"
    "vintage|colourful|colorful|fluffy|fast|graceful|single|playful|bright|simple|dreamy|brave|sleepy|"
    "magical|elegant|new|young|funny|toy|||||||"
).split("|")
"""Words that state nothing."""


def all_verbs() -> set[str]:
    """First words of every verb of the grammar."""
    lists = [RISING_VERBS, FALLING_VERBS, BOUNCING_VERBS, SPINNING_VERBS, ANY_STILL_VERBS]
    lists += [*MOVING_VERBS.values(), *STILL_VERBS.values()]
    return {verb.split()[0] for verbs in lists for verb in verbs}
