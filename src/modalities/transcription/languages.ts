/** ISO 639 codes as Whisper writes them, with the English names that the API answers with. */
const NAMES =
  "en english,zh chinese,de german,es spanish,ru russian,ko korean,fr french,ja japanese,pt portuguese," +
  "tr turkish,pl polish,ca catalan,nl dutch,ar arabic,sv swedish,it italian,id indonesian,hi hindi," +
  "fi finnish,vi vietnamese,he hebrew,uk ukrainian,el greek,ms malay,cs czech,ro romanian,da danish," +
  "hu hungarian,ta tamil,no norwegian,th thai,ur urdu,hr croatian,bg bulgarian,lt lithuanian,la latin," +
  "mi maori,ml malayalam,cy welsh,sk slovak,te telugu,fa persian,lv latvian,bn bengali,sr serbian," +
  "az azerbaijani,sl slovenian,kn kannada,et estonian,mk macedonian,br breton,eu basque,is icelandic," +
  "hy armenian,ne nepali,mn mongolian,bs bosnian,kk kazakh,sq albanian,sw swahili,gl galician," +
  "mr marathi,pa punjabi,si sinhala,km khmer,sn shona,yo yoruba,so somali,af afrikaans,oc occitan," +
  "ka georgian,be belarusian,tg tajik,sd sindhi,gu gujarati,am amharic,yi yiddish,lo lao,uz uzbek," +
  "fo faroese,ht haitian creole,ps pashto,tk turkmen,nn nynorsk,mt maltese,sa sanskrit," +
  "lb luxembourgish,my burmese,bo tibetan,tl tagalog,mg malagasy,as assamese,tt tatar,haw hawaiian," +
  "ln lingala,ha hausa,ba bashkir,jw javanese,su sundanese,yue cantonese";

const NAME_OF: ReadonlyMap<string, string> = new Map(
  NAMES.split(",").map((entry): [string, string] => {
    const [code = "", ...name] = entry.split(" ");
    return [code, name.join(" ")];
  }),
);

/** Other names and codes of the same languages. */
const ALIASES: Readonly<Record<string, string>> = {
  jv: "jw",
  nb: "no",
  fil: "tl",
  iw: "he",
  mandarin: "zh",
  castilian: "es",
  flemish: "nl",
  farsi: "fa",
  "norwegian nynorsk": "nn",
};

const CODE_OF: ReadonlyMap<string, string> = new Map([
  ...[...NAME_OF].flatMap(([code, name]): [string, string][] => [
    [code, code],
    [name, code],
  ]),
  ...Object.entries(ALIASES),
]);

/** The code of a language given by code or English name, in any case; undefined for none we know. */
export function findLanguage(value: string): string | undefined {
  return CODE_OF.get(value.trim().toLowerCase());
}

/** The English name in lower case, as the API answers: `english`. */
export function languageName(code: string): string {
  return NAME_OF.get(code) ?? code;
}
