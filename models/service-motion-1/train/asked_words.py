"""Words that the evaluation asks and that the grammar never uses: see make_prompts.py."""

SUBJECTS = {
    "ball": "softball|golf ball|cricket ball|tennis ball|orb",
    "boat": "kayak|gondola|lifeboat|tanker|galleon|dinghy",
    "bird": "hawk|stork|goose|pelican|flamingo|heron|magpie",
    "balloon": "barrage balloon|weather balloon|trial balloon|graf zeppelin",
    "car": "ambulance|pickup|lorry|hatchback|police car|station wagon",
    "fish": "shark|tuna|herring|cod|sturgeon|piranha",
    "tree": "palm|cypress|apple tree|walnut tree|poplar|spruce",
    "house": "shack|log cabin|palace|manor|town house|residence",
    "rocket": "space shuttle|guided missile|lunar module|space vehicle",
    "butterfly": "viceroy|luna moth|hawkmoth|cabbage butterfly|fritillary",
    "cat": "tiger|panther|spaniel|lynx|hound|puma|collie",
}
SETTINGS = {
    "ocean": "bay|gulf|pond|baltic|arabian sea|reservoir",
    "meadow": "backyard|wheatfield|savanna|hayfield|pastureland",
    "desert": "negev|sinai|sand dune|gobi desert|patagonian desert",
    "mountains": "everest|rockies|matterhorn|sierra|kilimanjaro",
    "city": "london|tokyo|venice|alley|skyscraper|chicago",
    "forest": "rain forest|wilderness|greenwood|timberland",
    "snowfield": "ice cap|alpine glacier|polar glacier|ice field",
    "beach": "sea coast|seaboard|gulf coast|sands",
    "space": "cassiopeia|milky way|gemini|pegasus",
    "sky": "thundercloud|cirrus|stratus|rain cloud|contrail",
    "underwater": "sea floor|atoll|barrier reef|ocean bottom",
}
COLOURS = {
    "red": "burgundy|blood red|ruby red|dark red",
    "orange": "orangish|burnt orange|pumpkin orange",
    "yellow": "saffron|canary yellow|pale yellow|maize",
    "green": "sea green|bottle green|pea green|light green",
    "blue": "navy blue|steel blue|ultramarine|aqua",
    "purple": "tyrian purple|reddish purple|mauve",
    "pink": "coral|old rose|carnation|yellowish pink",
    "white": "chalk|off white|bone",
    "black": "soot black|pitch black|jet black",
    "brown": "sepia|dark brown|caramel|umber",
    "gray": "iron gray|steel gray|silver gray|grayish",
}
ASKED = (SUBJECTS, SETTINGS, COLOURS)
