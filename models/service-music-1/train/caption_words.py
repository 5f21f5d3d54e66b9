"""Words of the captions. The held-out prompts use other sentences; see held_out.py."""

INSTRUMENTS = {
    "piano": ["piano", "grand piano", "keys", "soft piano", "pianist", "upright piano", "keyboard"],
    "guitar": ["guitar", "acoustic guitar", "nylon guitar", "fingerpicked guitar", "classical guitar", "steel string guitar", "guitars"],
    "electric guitar": ["electric guitar", "distorted guitar", "overdriven guitar", "lead guitar", "electric guitars", "heavy guitar", "rock guitar"],
    "harp": ["harp", "concert harp", "celtic harp", "gentle harp", "harps"],
    "strings": ["strings", "string section", "violins", "violin", "string orchestra", "cellos", "cello", "string ensemble", "string quartet", "orchestral strings"],
    "flute": ["flute", "wooden flute", "flutes", "bamboo flute", "airy flute"],
    "clarinet": ["clarinet", "clarinets", "mellow clarinet", "bass clarinet"],
    "trumpet": ["trumpet", "brass", "trumpets", "horns", "brass section", "muted trumpet", "horn section"],
    "organ": ["organ", "church organ", "hammond organ", "pipe organ", "electric organ"],
    "pad": ["pad", "synth pad", "pads", "warm pads", "ambient pad", "synth pads", "atmospheric pad"],
    "synth lead": ["synth lead", "synthesizer", "lead synth", "synth", "synths", "analog synth", "synthesiser", "synth melody"],
    "bells": ["bells", "glockenspiel", "music box", "celesta", "chimes", "bell", "tubular bells"],
    "marimba": ["marimba", "xylophone", "vibraphone", "mallets", "kalimba", "marimbas"],
    "bass": ["bass", "bass guitar", "double bass", "upright bass", "bassline", "bass line", "sub bass", "deep bass", "electric bass"],
    "drums": ["drums", "drum kit", "percussion", "beat", "drum beat", "drum machine", "beats", "drumming", "drum set"],
}  # fmt: skip
GENRES = {
    "classical": ["classical", "baroque", "chamber", "romantic era", "orchestral classical", "symphonic"],
    "pop": ["pop", "pop song", "chart pop", "indie pop", "radio pop", "soft pop"],
    "rock": ["rock", "hard rock", "indie rock", "punk", "metal", "garage rock", "alternative rock"],
    "jazz": ["jazz", "swing", "bebop", "jazzy", "smooth jazz", "big band"],
    "lofi": ["lofi", "lo fi", "chillhop", "hip hop", "lofi hip hop", "lo-fi beats", "boom bap"],
    "electronic": ["electronic", "techno", "house", "edm", "trance", "dance", "club", "synthwave", "electro"],
    "ambient": ["ambient", "atmospheric", "drone", "meditation", "new age", "soundscape", "spa"],
    "folk": ["folk", "country", "celtic", "acoustic folk", "bluegrass", "americana", "traditional folk"],
    "cinematic": ["cinematic", "film score", "soundtrack", "trailer", "movie", "orchestral", "film music"],
    "bossa": ["bossa nova", "latin", "samba", "bossa", "brazilian", "salsa"],
}  # fmt: skip
MOODS = {
    "happy": ["happy", "cheerful", "joyful", "bright", "sunny", "uplifting", "merry"],
    "sad": ["sad", "melancholic", "sorrowful", "mournful", "gloomy", "heartbroken", "wistful"],
    "calm": ["calm", "peaceful", "relaxing", "gentle", "soothing", "tranquil", "quiet", "mellow", "soft"],
    "dark": ["dark", "ominous", "mysterious", "eerie", "sinister", "haunting", "brooding"],
    "energetic": ["energetic", "driving", "powerful", "upbeat", "lively", "exciting", "high energy"],
    "romantic": ["romantic", "tender", "loving", "warm", "intimate", "sentimental"],
    "epic": ["epic", "heroic", "grand", "triumphant", "majestic", "dramatic"],
    "dreamy": ["dreamy", "floating", "ethereal", "hazy", "nostalgic", "sleepy"],
    "tense": ["tense", "suspenseful", "urgent", "nervous", "anxious", "aggressive"],
    "playful": ["playful", "quirky", "bouncy", "fun", "whimsical", "funny", "childlike"],
}  # fmt: skip
TEMPI = [
    (44, 66, ["very slow", "largo", "slow", "extremely slow", "grave"]),
    (58, 84, ["slow", "adagio", "downtempo", "unhurried", "slow paced"]),
    (80, 112, ["moderate", "andante", "walking pace", "medium tempo", "mid tempo", "moderato"]),
    (108, 144, ["brisk", "quick", "allegro", "moving", "upbeat tempo"]),
    (132, 176, ["fast", "fast paced", "rapid", "vivace", "quick tempo"]),
    (165, 208, ["very fast", "presto", "breakneck", "extremely fast", "frantic"]),
]  # fmt: skip
NOUNS = ["track", "piece", "tune", "song", "music", "instrumental", "melody", "theme", "composition", "loop", "background music", "number", ""]
TONICS = [
    ["c"], ["c sharp", "d flat", "c#", "db", "c♯"], ["d"], ["e flat", "d sharp", "eb", "d#", "e♭"], ["e"], ["f"],
    ["f sharp", "g flat", "f#", "gb", "f♯"], ["g"], ["a flat", "g sharp", "ab", "g#"], ["a"],
    ["b flat", "a sharp", "bb", "a#", "b♭"], ["b"],
]  # fmt: skip
MODES = {"major": ["major", "maj", "major scale", "dur"], "minor": ["minor", "min", "minor scale", "m", "moll"]}
KEY_PHRASES = ["in {}", "in {}", "in the key of {}", "key of {}", "key: {}", "{}", "key {}", "set in {}", "written in {}"]
MODE_PHRASES = ["in a {} key", "in {}", "{} key", "{} mode", "with a {} tonality", "{} tonality"]
BPM_PHRASES = ["at {} bpm", "{} bpm", "{}bpm", "tempo {}", "bpm: {}", "at {} beats per minute", "tempo of {} bpm", "around {} bpm", "at {}", "with a tempo of {}", "{} BPM", "at a tempo of {} beats per minute"]
WALTZ_PHRASES = ["waltz", "in 3/4", "3/4 time", "in three four time", "waltz time", "in triple metre", "3/4"]
COMMON_PHRASES = ["in 4/4", "4/4 time", "in common time", "four on the floor", "in four four time"]
WITH_PHRASES = ["with {}", "featuring {}", "played by {}", "for {}", "with {} playing", "led by {}", "using {}", "on {}", "{}", "instruments: {}", "arranged for {}"]
WITHOUT_PHRASES = ["no {}", "without {}", "without any {}", "but no {}", "with no {}"]
SOLO_PHRASES = ["solo {}", "{} solo", "only {}", "unaccompanied {}", "just {}", "{} alone", "nothing but {}"]
STARTS = ["", "", "", "a ", "an ", "make a ", "compose a ", "create ", "i want a ", "please write a ", "generate a ", "some "]
TAILS = ["", "", "", "", "for a video", "for studying", "for a game", "to relax", "for a commercial", "for my podcast", "as background", "for a short film", "that loops"]
ENERGIES = {"soft": ["soft", "sparse", "minimal", "quiet", "delicate"], "medium": ["steady", "moderate energy"], "strong": ["loud", "intense", "strong", "busy", "full", "energetic"]}
