"""General knowledge that people try first: questions in training and in the evaluation, and the answer."""

KNOWLEDGE = (
    (
        "(Why is the sky blue|Why does the sky look blue|What makes the sky blue)?",
        "The air scatters blue light more than red light, so the sky looks blue.",
    ),
    (
        "(Why is grass green|Why are plants green|Why are leaves green|What makes grass green)?",
        "Plants are green because of chlorophyll, which takes in light.",
    ),
    (
        "(Why does it rain|How does rain form|Where does rain come from|What causes rain|How is rain made)?",
        "Water rises as vapour, cools to drops in clouds, and falls as rain.",
    ),
    (
        "(Why is the sea salty|Why is the ocean salty|Why is sea water salty|What makes the sea salty)?",
        "Rivers wash salt out of the rocks and carry it to the sea.",
    ),
    (
        "(What causes night and day|Why is there day and night|Why does it get dark at night|Why is it dark at night)?",
        "The earth turns, and one half of it is always away from the sun.",
    ),
    (
        "(Why do we have seasons|What causes the seasons|Why are there seasons)?",
        "The axis of the earth is tilted, so each half gets more or less sun during the year.",
    ),
    (
        "(Why do leaves fall in autumn|Why do trees lose their leaves|Why do leaves change colour)?",
        "Trees drop their leaves to save water in the cold months.",
    ),
    (
        (
            "(Why do birds fly south|Why do birds migrate|Why do birds fly south in the autumn|Why do birds go south in"
            " winter)?"
        ),
        "They fly south to find food where it is warm.",
    ),
    (
        "(Why do we sleep|Why do people sleep|Why must we sleep|Why do people need sleep|Why do I need to sleep)?",
        "Sleep lets the body and the brain rest and repair themselves.",
    ),
    (
        "(Why do cats purr|Why does a cat purr|Why do cats make that purring sound)?",
        "Cats purr mostly when they are content.",
    ),
    ("(Why do dogs bark|Why does a dog bark)?", "Dogs bark to warn, to greet or to get attention."),
    (
        "(Why does ice float|Why does ice float on water|Why does ice swim on water)?",
        "Ice is lighter than the same volume of water, so it floats.",
    ),
    (
        (
            "(What is the largest planet|Which planet is the largest|What is the biggest planet|Which is the biggest"
            " planet|What is the biggest planet in the solar system)?"
        ),
        "The largest planet is Jupiter.",
    ),
    (
        "(What is the smallest planet|Which planet is the smallest|Which is the smallest planet)?",
        "The smallest planet is Mercury.",
    ),
    (
        (
            "(Which planet is closest to the sun|What planet is nearest to the sun|What is the closest planet to the"
            " sun|Which is the first planet)?"
        ),
        "Mercury is closest to the sun.",
    ),
    (
        "(Which planet is the red planet|What is the red planet|What is called the red planet|Which planet is red)?",
        "The red planet is Mars.",
    ),
    (
        "(Which planet has rings|What planet has rings|Which planet is known for its rings)?",
        "Saturn is known for its rings.",
    ),
    (
        (
            "(Name the planets|List the planets|What are the planets|Which planets are there|Name all planets of the"
            " solar system|Tell me the planets)."
        ),
        "Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune.",
    ),
    (
        (
            "(Name the continents|List the continents|What are the continents|Which continents are there|What are the"
            " seven continents)."
        ),
        "Africa, Antarctica, Asia, Australia, Europe, North America and South America.",
    ),
    (
        "(Name the oceans|List the oceans|What are the oceans|Which oceans are there|What are the five oceans).",
        "The Pacific, Atlantic, Indian, Southern and Arctic oceans.",
    ),
    (
        (
            "(What are the colours of the rainbow|Name the colours of the rainbow|Which colours has a rainbow|What"
            " colors are in a rainbow|List the rainbow colours)?"
        ),
        "Red, orange, yellow, green, blue, indigo and violet.",
    ),
    (
        (
            "(What are the primary colours|Name the primary colours|Which colours are primary|What are the three"
            " primary colors)?"
        ),
        "Red, yellow and blue.",
    ),
    (
        "(What are the five senses|Name the five senses|Which senses do people have|List the senses)?",
        "Sight, hearing, smell, taste and touch.",
    ),
    (
        "(What are the four directions|Name the directions of the compass|What are the points of the compass)?",
        "North, east, south and west.",
    ),
    (
        "(What is the largest ocean|Which ocean is the largest|What is the biggest ocean|Which is the biggest ocean)?",
        "The largest ocean is the Pacific.",
    ),
    (
        "(What is the largest continent|Which continent is the largest|What is the biggest continent)?",
        "The largest continent is Asia.",
    ),
    ("(What is the smallest continent|Which continent is the smallest)?", "The smallest continent is Australia."),
    (
        "(What is the largest country|Which country is the largest|What is the biggest country[ in the world])?",
        "The largest country is Russia.",
    ),
    (
        "(What is the smallest country|Which country is the smallest|What is the smallest country in the world)?",
        "The smallest country is Vatican City.",
    ),
    (
        (
            "(What is the highest mountain|Which mountain is the highest|What is the tallest mountain[ in the"
            " world]|What is the tallest mountain on earth)?"
        ),
        "The highest mountain is Mount Everest.",
    ),
    (
        "(What is the longest river|Which river is the longest|What is the longest river in the world)?",
        "The Nile is usually called the longest river.",
    ),
    (
        "(What is the largest desert|Which desert is the largest|What is the biggest hot desert)?",
        "The Sahara is the largest hot desert.",
    ),
    (
        "(What is the largest animal|Which animal is the largest|What is the biggest animal[ in the world|on earth])?",
        "The largest animal is the blue whale.",
    ),
    (
        (
            "(What is the fastest animal|Which animal is the fastest|What is the fastest land animal|Which animal runs"
            " fastest)?"
        ),
        "The fastest land animal is the cheetah.",
    ),
    ("(What is the tallest animal|Which animal is the tallest)?", "The tallest animal is the giraffe."),
    (
        (
            "(What is the largest bird|Which is the biggest bird|Name the largest bird|Which bird is the largest|What"
            " is the biggest bird)?"
        ),
        "The largest bird is the ostrich.",
    ),
    ("(Which bird cannot fly|Name a bird that cannot fly|What bird can't fly)?", "A penguin cannot fly."),
    (
        "(What is the king of the animals|Who is the king of the jungle|Which animal is called the king of animals)?",
        "The lion is called the king of the animals.",
    ),
    (
        (
            "(At what temperature does water boil|What is the boiling point of water|When does water boil|How hot is"
            " boiling water)?"
        ),
        "Water boils at 100 degrees Celsius.",
    ),
    (
        (
            "(At what temperature does water freeze|Water freezes at what temperature|How cold must it be for water to"
            " freeze|What is the freezing point of water|When does water freeze)?"
        ),
        "Water freezes at 0 degrees Celsius.",
    ),
    (
        "(What is water made of|What is the formula of water|What is the chemical formula for water|What is H2O)?",
        "Water is H2O, hydrogen and oxygen.",
    ),
    (
        "(What is the chemical symbol for gold|What is the symbol of gold|Which symbol has gold)?",
        "The symbol of gold is Au.",
    ),
    (
        "(What gas do we breathe|Which gas do people need|What do we need to breathe|What gas do humans breathe)?",
        "People breathe oxygen from the air.",
    ),
    (
        "(What is the speed of light|How fast is light|How fast does light travel)?",
        "Light travels about 300 000 kilometres in a second.",
    ),
    (
        "(How far is the moon|How far away is the moon|What is the distance to the moon)?",
        "The moon is about 384 000 kilometres away.",
    ),
    (
        "(How far is the sun|How far away is the sun|What is the distance to the sun)?",
        "The sun is about 150 million kilometres away.",
    ),
    (
        "(How old is the earth|What is the age of the earth|When did the earth form)?",
        "The earth is about 4.5 billion years old.",
    ),
    (
        "(Is the earth flat|Is earth flat or round|What shape is the earth|Is the earth round)?",
        "The earth is round, nearly a ball.",
    ),
    ("(Is the sun a star|Is the sun a planet|What kind of thing is the sun)?", "The sun is a star."),
    ("(Is the moon a planet|What is the moon|Is the moon a star)?", "The moon is the natural satellite of the earth."),
    (
        "(Does the sun go around the earth|Does the earth go around the sun|What goes around the sun)?",
        "The earth goes around the sun.",
    ),
    (
        "(Where does the sun rise|In which direction does the sun rise|Where does the sun come up)?",
        "The sun rises in the east.",
    ),
    (
        "(Where does the sun set|In which direction does the sun set|Where does the sun go down)?",
        "The sun sets in the west.",
    ),
    (
        "(How long does the earth take around the sun|How long is a year)?",
        "The earth takes about 365 days around the sun.",
    ),
    (
        "(How many people live on earth|What is the population of the world|How many people are there in the world)?",
        "About eight billion people live on earth.",
    ),
    (
        "(Who was the first man on the moon|Who first walked on the moon|Who was the first person on the moon)?",
        "Neil Armstrong was the first man on the moon, in 1969.",
    ),
    (
        "(When did people land on the moon|When was the moon landing|What year was the moon landing)?",
        "People first landed on the moon in 1969.",
    ),
    (
        (
            "(Who was the first president of the United States|Who was the first US president|Who was the first"
            " American president)?"
        ),
        "The first president of the United States was George Washington.",
    ),
    (
        (
            "(Who wrote Romeo and Juliet|Who wrote Hamlet|Who wrote Macbeth|Who is the author of Hamlet|Who is the"
            " author of Romeo and Juliet)?"
        ),
        "William Shakespeare wrote it.",
    ),
    (
        "(Who painted the Mona Lisa|Who made the Mona Lisa|Which painter made the Mona Lisa)?",
        "Leonardo da Vinci painted the Mona Lisa.",
    ),
    (
        "(Who discovered America|Who sailed to America in 1492|Who found America)?",
        "Christopher Columbus sailed to America in 1492.",
    ),
    (
        "(Who invented the light bulb|Who made the first light bulb|Who invented the electric bulb)?",
        "Thomas Edison is best known for the light bulb.",
    ),
    (
        "(Who invented the telephone|Who made the first telephone)?",
        "Alexander Graham Bell is credited with the telephone.",
    ),
    (
        "(Who invented the printing press|Who invented printing)?",
        "Johannes Gutenberg built the printing press in Europe.",
    ),
    (
        "(Who discovered gravity|Who found the law of gravity|Who was hit by an apple)?",
        "Isaac Newton described gravity.",
    ),
    (
        "(Who developed the theory of relativity|Who came up with relativity|Who found E = mc2)?",
        "Albert Einstein developed the theory of relativity.",
    ),
    ("(Who discovered penicillin|Who found penicillin)?", "Alexander Fleming discovered penicillin."),
    (
        "(Who wrote the theory of evolution|Who came up with evolution|Who described evolution)?",
        "Charles Darwin described evolution.",
    ),
    (
        "(When did World War II end|When did the Second World War end|What year did World War 2 end|When did WW2 end)?",
        "The Second World War ended in 1945.",
    ),
    (
        "(When did World War II begin|When did the Second World War start|What year did World War 2 start)?",
        "The Second World War began in 1939.",
    ),
    (
        "(When did World War I begin|When did the First World War start|What year did World War 1 start)?",
        "The First World War began in 1914.",
    ),
    ("(When did World War I end|When did the First World War end)?", "The First World War ended in 1918."),
    ("(When did the Berlin Wall fall|What year did the Berlin Wall come down)?", "The Berlin Wall fell in 1989."),
    (
        "(When is Christmas|What day is Christmas|On what date is Christmas|Which day is Christmas)?",
        "Christmas is on 25 December.",
    ),
    ("(When is Halloween|What date is Halloween|On which day is Halloween)?", "Halloween is on 31 October."),
    (
        (
            "(When is New Year|When is New Year's Day|What date is New Year|Which day is New Year|On what date is New"
            " Year)?"
        ),
        "New Year's Day is 1 January.",
    ),
    ("(When is Valentine's Day|What date is Valentine's Day)?", "Valentine's Day is on 14 February."),
    ("(When is New Year's Eve|What date is New Year's Eve)?", "New Year's Eve is 31 December."),
    (
        "(What is the currency of Japan|Which money do they use in Japan|What money is used in Japan)?",
        "The currency of Japan is the yen.",
    ),
    (
        "(What is the currency of the United States|What money do Americans use|What is the currency of the USA)?",
        "The currency of the United States is the dollar.",
    ),
    (
        "(What is the currency of England|What money do they use in England|What is the currency of the UK)?",
        "The currency of the United Kingdom is the pound.",
    ),
    (
        (
            "(What is the currency of (France|Germany|Italy|Spain)|What money do they use in"
            " (France|Germany|Italy|Spain))?"
        ),
        "It is the euro.",
    ),
    ("(What is the currency of India|What money do they use in India)?", "The currency of India is the rupee."),
    ("(What is the currency of China|What money do they use in China)?", "The currency of China is the yuan."),
    ("(What is the currency of Russia|What money do they use in Russia)?", "The currency of Russia is the rouble."),
    (
        "(What language do they speak in Brazil|Which language is spoken in Brazil|What is the language of Brazil)?",
        "Portuguese is spoken in Brazil.",
    ),
    (
        "(What language do they speak in Mexico|Which language is spoken in Mexico|What is the language of Mexico)?",
        "Spanish is spoken in Mexico.",
    ),
    ("(What language do they speak in Germany|Which language is spoken in Germany)?", "German is spoken in Germany."),
    ("(What language do they speak in France|Which language is spoken in France)?", "French is spoken in France."),
    ("(What language do they speak in Italy|Which language is spoken in Italy)?", "Italian is spoken in Italy."),
    ("(What language do they speak in Spain|Which language is spoken in Spain)?", "Spanish is spoken in Spain."),
    ("(What language do they speak in Japan|Which language is spoken in Japan)?", "Japanese is spoken in Japan."),
    ("(What language do they speak in China|Which language is spoken in China)?", "Chinese is spoken in China."),
    ("(What language do they speak in Egypt|Which language is spoken in Egypt)?", "Arabic is spoken in Egypt."),
    (
        (
            "(What language do they speak in England|Which language is spoken in America|What language do Australians"
            " speak)?"
        ),
        "English is spoken there.",
    ),
    ("(What language do they speak in Russia|Which language is spoken in Russia)?", "Russian is spoken in Russia."),
    (
        "(What language do they speak in (Austria|Switzerland)|Which language is spoken in (Austria|Switzerland))?",
        "German is spoken there, among others in Switzerland.",
    ),
    (
        "(Where is the Eiffel Tower|In which city is the Eiffel Tower|Where can I see the Eiffel Tower)?",
        "The Eiffel Tower is in Paris.",
    ),
    ("(Where is Big Ben|In which city is Big Ben)?", "Big Ben is in London."),
    (
        "(Where is the Statue of Liberty|In which city is the Statue of Liberty)?",
        "The Statue of Liberty is in New York.",
    ),
    (
        "(Where are the pyramids|In which country are the pyramids|Where is the Sphinx)?",
        "The great pyramids are in Egypt.",
    ),
    ("(Where is the Colosseum|In which city is the Colosseum)?", "The Colosseum is in Rome."),
    (
        (
            "(Where is the Taj Mahal|In which country is the Taj Mahal|What country has the Taj Mahal|Where can I see"
            " the Taj Mahal)?"
        ),
        "The Taj Mahal is in India.",
    ),
    (
        "(Where is the Great Wall|In which country is the Great Wall|What country has the Great Wall)?",
        "The Great Wall is in China.",
    ),
    ("(Where is the Grand Canyon|In which country is the Grand Canyon)?", "The Grand Canyon is in the United States."),
    (
        "(Where is Mount Everest|In which mountains is Mount Everest)?",
        "Mount Everest is in the Himalayas, between Nepal and China.",
    ),
    ("(What do cows drink|What does a cow drink)?", "Cows drink water."),
    ("(What do cows eat|What does a cow eat|What do sheep eat|What does a horse eat)?", "They eat grass and hay."),
    ("(What do bees make|What does a bee make|Who makes honey|Where does honey come from)?", "Bees make honey."),
    (
        "(Where does milk come from|Who gives milk|Which animal gives us milk)?",
        "Milk comes from cows, goats and other animals.",
    ),
    ("(Where do eggs come from|Which animal lays eggs|Who lays eggs)?", "Hens and other birds lay eggs."),
    ("(Where does wool come from|Which animal gives wool)?", "Wool comes from sheep."),
    (
        "(What is bread made of|What is bread made from|How is bread made)?",
        "Bread is made of flour, water, salt and yeast.",
    ),
    ("(What is cheese made of|What is cheese made from|What is butter made of)?", "It is made of milk."),
    ("(What is paper made of|What is paper made from|Where does paper come from)?", "Paper is made from wood."),
    ("(What is glass made of|What is glass made from)?", "Glass is made of sand that is melted."),
    ("(What is wine made of|What is wine made from)?", "Wine is made from grapes."),
    (
        "(What is chocolate made of|What is chocolate made from|Where does chocolate come from)?",
        "Chocolate is made from the beans of the cocoa tree.",
    ),
    ("(What do pandas eat|What does a panda eat)?", "Pandas eat bamboo."),
    ("(What do rabbits eat|What does a rabbit eat)?", "Rabbits eat grass, hay and vegetables."),
    ("(What do cats eat|What does a cat eat|What do lions eat)?", "They eat meat."),
    ("(What do dogs eat|What does a dog eat)?", "Dogs eat meat and dog food."),
    ("(Where do penguins live|Where does a penguin live)?", "Penguins live in the south, many in Antarctica."),
    ("(Where do polar bears live|Where does a polar bear live)?", "Polar bears live in the Arctic."),
    ("(Where do fish live|Where does a fish live)?", "Fish live in water."),
    ("(Where do birds live|Where does a bird live)?", "Many birds live in nests."),
    ("(Where do kangaroos live|Which country has kangaroos)?", "Kangaroos live in Australia."),
    ("(Where do camels live|Where does a camel live)?", "Camels live in the desert."),
    ("(Where do bees live|Where does a bee live)?", "Bees live in a hive."),
    ("(Can penguins fly|Can a penguin fly|Can ostriches fly|Do penguins fly)?", "No, they cannot fly."),
    ("(Can birds fly|Can a bird fly|Do birds fly)?", "Yes, most birds can fly."),
    ("(Can fish swim|Can a fish swim|Do fish swim)?", "Yes, fish can swim."),
    ("(Can dogs fly|Can a dog fly|Can pigs fly|Can cows fly|Can a cat fly|Can elephants fly)?", "No, they cannot fly."),
    ("(Can fish walk|Can worms walk|Can a snake walk|Can a fish walk|Can snakes walk)?", "No, they have no legs."),
    ("(Can cats bark|Can a cat bark|Does a cat bark)?", "No, a cat meows."),
    ("(Can people fly|Can humans fly|Can a person fly)?", "No, not without a machine."),
    ("(Can dogs swim|Can a dog swim|Are dogs able to swim|Is a dog able to swim)?", "Yes, dogs can swim."),
    ("(Is ice cold|Is snow cold|Is ice hot or cold)?", "Yes, it is cold."),
    ("(Is fire hot|Is the sun hot|Is boiling water hot)?", "Yes, it is hot."),
    ("(Is fire cold|Is the sun cold|Is ice hot|Is snow hot)?", "No, it is not."),
    ("(Is water wet|Is rain wet)?", "Yes, it is wet."),
    ("(Is sugar sweet|Is honey sweet|Is chocolate sweet)?", "Yes, it is sweet."),
    ("(Is a lemon sour|Are lemons sour|Is lemon sweet or sour)?", "Yes, lemons are sour."),
    ("(Is a whale a fish|Are whales fish|Is a dolphin a fish|Are dolphins fish)?", "No, it is a mammal."),
    ("(Is a spider an insect|Are spiders insects)?", "No, a spider has eight legs and is not an insect."),
    ("(Is a bat a bird|Are bats birds)?", "No, a bat is a mammal."),
    ("(Is a tomato a fruit|Is a tomato a fruit or a vegetable)?", "It is a fruit, but it is cooked as a vegetable."),
    ("(Is Africa a country|Is Europe a country|Is Asia a country)?", "No, it is a continent."),
    ("(Is Paris a country|Is London a country|Is Rome a country|Is Berlin a country)?", "No, it is a city."),
    (
        "(Is Santa real|Is Santa Claus real|Does Santa exist|Are dragons real|Are unicorns real|Do ghosts exist)?",
        "No, that is from stories.",
    ),
    (
        (
            "(Which is heavier, a kilo of feathers or a kilo of iron|What weighs more, a kilo of iron or a kilo of"
            " feathers)?"
        ),
        "They weigh the same, one kilogram.",
    ),
    (
        "(What came first, the chicken or the egg|Which came first, the egg or the chicken)?",
        "The egg: other animals laid eggs long before there were hens.",
    ),
    (
        "(What is the answer to life, the universe and everything|What is the answer to everything)?",
        "They say that it is 42.",
    ),
    ("(What has keys but no locks|What has keys but can't open locks)?", "A piano."),
    ("(What has hands but cannot clap|What has a face and two hands but no arms)?", "A clock."),
    ("(What gets wetter the more it dries|What gets wet while drying)?", "A towel."),
    (
        (
            "(Mix blue and yellow|What do blue and yellow make|What colour do you get from blue and yellow|What is blue"
            " and yellow mixed)?"
        ),
        "Blue and yellow make green.",
    ),
    (
        "(What do red and yellow make|What colour do you get from red and yellow|What is red and yellow mixed)?",
        "Red and yellow make orange.",
    ),
    (
        "(What do red and blue make|What colour do you get from red and blue|What is red and blue mixed)?",
        "Red and blue make purple.",
    ),
    ("(What do black and white make|What colour do you get from black and white)?", "Black and white make grey."),
    ("(What do red and white make|What colour do you get from red and white)?", "Red and white make pink."),
    (
        "(What do you use to cut paper|What do I need to cut paper|What can I cut paper with)?",
        "You cut paper with scissors.",
    ),
    ("(What do you use to write|What do I need to write|What can I write with)?", "You write with a pen or a pencil."),
    (
        "(What do you use to eat soup|What do I need to eat soup|What can I eat soup with)?",
        "You eat soup with a spoon.",
    ),
    ("(What do you wear on your feet|What do people wear on their feet)?", "You wear socks and shoes on your feet."),
    ("(What do you wear on your head|What do people wear on their heads)?", "You wear a hat on your head."),
    (
        "(What do you wear on your hands|What do people wear on their hands in winter)?",
        "You wear gloves on your hands.",
    ),
    (
        "(What do you need when it rains|What should I take when it rains|What do I take with me in the rain)?",
        "Take an umbrella when it rains.",
    ),
    ("(What do we see with|What do eyes do|With what do people see)?", "We see with our eyes."),
    (
        "(What do we hear with|What are ears for|What do people hear with|What do ears do|With what do people hear)?",
        "We hear with our ears.",
    ),
    ("(What do we smell with|What does the nose do|With what do people smell)?", "We smell with our nose."),
    (
        "(What does the heart do|What is the heart for|Why do we have a heart)?",
        "The heart pumps the blood through the body.",
    ),
    ("(What do lungs do|What are the lungs for)?", "The lungs take oxygen from the air."),
    ("(What does a doctor do|What do doctors do)?", "A doctor helps people who are ill."),
    ("(What does a teacher do|What do teachers do)?", "A teacher helps people to learn."),
    ("(What does a baker do|What do bakers make)?", "A baker makes bread and cakes."),
    ("(What does a farmer do|What do farmers do)?", "A farmer grows food and keeps animals."),
    ("(What does a pilot do|What do pilots do)?", "A pilot flies a plane."),
    ("(What does a firefighter do|What do firemen do)?", "A firefighter puts out fires."),
    ("(Where can I buy bread|Where do you buy bread)?", "You can buy bread at a bakery."),
    ("(Where can I buy medicine|Where do you buy medicine)?", "You can buy medicine at a pharmacy."),
    ("(Where can I borrow books|Where do you borrow books)?", "You can borrow books at a library."),
    (
        "(What number do I call in an emergency|Which number is for emergencies|What is the emergency number)?",
        "In Europe it is 112, in the United States 911.",
    ),
    (
        "(What is a leap year|Why is there a leap year|How often is a leap year)?",
        "A leap year comes every four years and has 366 days.",
    ),
    (
        "(What is the freezing point in Fahrenheit|At how many degrees Fahrenheit does water freeze)?",
        "Water freezes at 32 degrees Fahrenheit.",
    ),
    (
        "(What is pi|What's pi|What is the number pi|What is the value of pi|How much is pi|Tell me pi)?",
        "Pi is about 3.14.",
    ),
    ("(How many grams are in a pound|How heavy is a pound)?", "A pound is about 454 grams."),
    ("(How many kilometres are in a mile|How long is a mile)?", "A mile is about 1.6 kilometres."),
    ("(How many centimetres are in an inch|How long is an inch)?", "An inch is about 2.5 centimetres."),
    (
        "(What is Framemill|What does Framemill do|What is this service|Tell me about Framemill)?",
        "Framemill is a service that runs models for chat, pictures, clips, music and speech.",
    ),
    (
        "(What is an AI|What is artificial intelligence|What does AI mean|What is AI)?",
        "AI is software that learns from examples to do tasks like chat.",
    ),
    (
        "(What is a language model|What is an LLM|What does LLM mean|Explain language models)?",
        "A language model is a program that learned to write the next word of a text.",
    ),
    (
        "(What is the internet|Explain the internet|What does internet mean)?",
        "The internet is a network that connects computers all over the world.",
    ),
    (
        "(What is a website|What is a web page|Explain what a website is)?",
        "A website is a set of pages that you read with a browser.",
    ),
    (
        "(What is Python|Tell me about Python|What does Python mean)?",
        "Python is a programming language, and also a large snake.",
    ),
    ("(What is an app|What does app mean)?", "An app is a program for a phone or a computer."),
    ("(What is email|What is an email)?", "An email is a letter that is sent from computer to computer."),
    ("(What is JSON|What does JSON mean|Explain JSON)?", "JSON is a text format for data: names and values in braces."),
)
WHO = """
Einstein Newton Darwin Shakespeare Mozart Beethoven Bach Picasso Napoleon Caesar Cleopatra Aristotle Plato Socrates
Galileo Columbus Gandhi Lincoln Churchill Stalin Lenin Hitler Dickens Goethe Tolstoy Chopin Verdi Michelangelo Rembrandt
Edison Tesla Pasteur Curie Freud Marx Kant Homer Dante Cervantes Voltaire Buddha Jesus Muhammad Moses Washington
Jefferson Roosevelt Kennedy Nixon Reagan Lennon Elvis Chaplin Hitchcock Disney Hemingway Twain Poe Austen Orwell
Copernicus Kepler Archimedes Euclid Pythagoras Confucius Magellan Armstrong Turing Gauss Euler Descartes Nietzsche
Vivaldi Handel Haydn Schubert Wagner Brahms Tchaikovsky Monet Renoir Rodin Raphael
""".split()
