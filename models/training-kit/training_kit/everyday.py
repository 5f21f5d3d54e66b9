"""Words of everyday messages, which a dictionary writes seldom: they shall be whole tokens."""

WORDS = """
i'm i've i'll you're you've don't doesn't didn't won't can't couldn't shouldn't isn't aren't wasn't weren't let's
that's what's who's it's there's gonna wanna gotta kinda sorta yeah yep nope okay ok hey hi hello thanks thank please
sorry lol omg btw idk tbh pls plz dude guys folks mom dad mum kids kid boyfriend girlfriend husband wife classmate
coworker colleague boss neighbor neighbour teammate teenager teen underage minor minors online internet website
web app apps software server servers laptop phone smartphone email text texting chat bot prompt video videos photo photos
picture pictures clip camera movie film trailer game gaming gamer level boss fight character stream streamer channel
python javascript java docker linux windows kernel thread process script bug bugs crash crashed debug compile code
coding program programming database query queries table tables function functions loop api token tokens login password
passwords account accounts hack hacked hacking hacker phishing malware ransomware virus scam scams fraud fake stolen
steal stealing drug drugs dealer dealers meth cocaine heroin weed cannabis vape bomb bombs explosive explosives gun guns
rifle weapon weapons ammo knife knives kill kills killed killing killer murder murdered shoot shooting shot stab
stabbed attack attacked attacking punch punched beat beating hurt hurting harm harming threat threaten threatening die
died dying dead death suicide suicidal overdose cutting cut myself yourself himself herself themselves worthless
useless pathetic stupid idiot moron loser losers disgusting ugly dumb trash garbage freak filthy vermin animals immigrants
immigrant refugees refugee muslims muslim jews jewish christians christian gay gays lesbian trans transgender women men
black white asian asians disabled foreigners foreigner religion religious race ethnic minority minorities deport
hate hates hated hating despise sex sexual sexy nude nudes naked porn pornographic erotic explicit adult adults
blood bloody gore gory corpse wound wounds injury injuries fight fighting war soldier soldiers terrorist terrorists
recipe recipes cook cooking bake baking workout exercise exercises homework essay exam exams school college university
meeting meetings deadline project projects client clients job jobs interview resume holiday vacation travel trip flight
hotel restaurant weather sunset sunrise beach boat ocean mountain city car cars bike train bus dog cat puppy kitten
birthday party wedding music song songs lyrics guitar piano band concert football soccer basketball tennis chess
""".split()


def everyday_sentences() -> list[str]:
    """Each word often enough to be kept whole."""
    return [word for word in WORDS for _ in range(40)]
