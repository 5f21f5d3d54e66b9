import type { Command, Option } from "commander";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Prints the completion of a command tree for one shell. */
export function writeCompletion(program: Command, shell: string): void {
  process.stdout.write(completionOf(program, shell));
}

/** The script that completes commands, options and their values; what it cannot know completes as a file. */
export function completionOf(program: Command, shell: string): string {
  const places = placesOf(program, "", program.options);
  if (shell === "fish") return fish(program.name(), places);
  return shell === "zsh" ? zsh(program.name(), places) : bash(program.name(), places);
}

interface Word {
  readonly word: string;
  readonly description: string;
}

/** What may stand after the commands of a path, e.g. `jobs list`. */
interface Place {
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** Values of options that take one of a few. */
  readonly values: readonly { readonly option: string; readonly words: readonly string[] }[];
  /** Values of the first argument, where they are few. */
  readonly argumentWords: readonly string[];
}

/** `everywhere`: options of the program itself, which every command takes. */
function placesOf(command: Command, path: string, everywhere: readonly Option[]): Place[] {
  const help = { word: "--help", description: "what it takes" };
  const options = [...new Set([...command.options, ...everywhere])].filter(({ hidden }) => !hidden);
  const place: Place = {
    path,
    commands: command.commands.map((sub) => toWord(sub.name(), sub.description())),
    options: [...options.map((option) => toWord(flagOf(option), option.description)), help],
    values: options
      .filter(({ argChoices }) => argChoices !== undefined)
      .map((option) => ({ option: flagOf(option), words: option.argChoices ?? [] })),
    argumentWords: command.registeredArguments[0]?.argChoices ?? [],
  };
  const deeper = command.commands.flatMap((sub) =>
    placesOf(sub, path === "" ? sub.name() : `${path} ${sub.name()}`, everywhere),
  );
  return [place, ...deeper];
}

function flagOf({ long, flags }: Option): string {
  return long ?? flags;
}

function toWord(word: string, description: string): Word {
  return { word, description };
}

function wordsOf({ commands, options, argumentWords }: Place): string[] {
  return [
    ...commands.map(({ word }) => word),
    ...argumentWords,
    ...options.map(({ word }) => word),
  ];
}

/** Paths below the program itself, as alternatives of a shell's `case`. */
function alternatives(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== "")
    .map(({ path }) => `"${path}"`)
    .join("|");
}

/** Branches of a shell's `case` on the path and the option before: `answer` takes the option's values. */
function valueCases(places: readonly Place[], answer: (words: string) => string): string {
  return places
    .flatMap(({ path, values }) =>
      values.map(({ option, words }) => `    "${path}:${option}") ${answer(words.join(" "))} ;;`),
    )
    .join("\n");
}

function bash(name: string, places: readonly Place[]): string {
  return `# bash completion of ${name}: eval "$(${name} completion bash)"
_${name}() {
  local word path="" words="" next
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
      ${alternatives(places)}) path="$next" ;;
    esac
  done
  case "$path:\${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(places, (words) => `words="${words}"`)}
    *) case "$path" in
${places.map((place) => `      "${place.path}") words="${wordsOf(place).join(" ")}" ;;`).join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`;
}

function zsh(name: string, places: readonly Place[]): string {
  const described = ({ word, description }: Word) =>
    quote(`${word.replaceAll(":", "\\:")}:${description}`);
  const cases = places.map((place) => {
    const words = [...place.commands, ...place.argumentWords.map((word) => toWord(word, ""))];
    return `      "${place.path}") answers=(${[...words, ...place.options].map(described).join(" ")}) ;;`;
  });
  return `#compdef ${name}
# zsh completion of ${name}: eval "$(${name} completion zsh)"
_${name}() {
  local word place="" next
  local -a before answers
  before=("\${(@)words[2,CURRENT-1]}")
  for word in $before; do
    next="\${place:+$place }$word"
    case "$next" in
      ${alternatives(places)}) place="$next" ;;
    esac
  done
  case "$place:\${before[-1]}" in
${valueCases(places, (words) => `answers=(${words})`)}
    *) case "$place" in
${cases.join("\n")}
    esac ;;
  esac
  _describe ${name} answers || _files
}
compdef _${name} ${name}
`;
}

function fish(name: string, places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options, values, argumentWords }) => {
    const at = `complete -c ${name} -n '__${name}_at ${quote(path).replaceAll("'", '"')}'`;
    return [
      ...commands.map(({ word, description }) => `${at} -f -a ${word} -d ${quote(description)}`),
      ...argumentWords.map((word) => `${at} -f -a ${word}`),
      ...options.map(({ word, description }) => {
        const words = values.find(({ option }) => option === word)?.words;
        const taken = words === undefined ? "" : ` -x -a ${quote(words.join(" "))}`;
        return `${at} -l ${word.replace(/^--/, "")}${taken} -d ${quote(description)}`;
      }),
    ];
  });
  const paths = places.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  return `# fish completion of ${name}: ${name} completion fish | source
function __${name}_at
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    contains -- "$next" ${paths.join(" ")}; and set path "$next"
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}

/** In single quotes, which hold everything but themselves. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "")}'`;
}
