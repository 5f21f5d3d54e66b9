import { expect, test } from "vitest";
import { parseTemplate } from "#framemill/models/decoder/jinja.js";

/** What templates of these families are made of, and what Jinja 3.1 writes for it. */
const CONSTRUCTS: readonly (readonly [family: string, source: string, written: string])[] = [
  [
    "Hermes' tool_use and Command R+ without tools",
    "{% for tool in tools %}x{% endfor %}{% for tool in tools if tool.type %}x{% endfor %}none",
    "none",
  ],
  [
    "Functionary 3.1, which filters no tools",
    "{% if not tools is defined %}{% set tools = none %}{% endif %}{{ tools | selectattr('type', 'equalto', 'x') | list | length }}",
    "0",
  ],
  [
    "Functionary 3.2, which indents by depth",
    "{% for field, name in [('a', 'A'), ('b', 'B')] %}{{ '  ' * 2 + field ~ '=' ~ 3 ~ name }}{% endfor %}",
    "    a=3A    b=3B",
  ],
  [
    "Command R+, which looks up types that are lists",
    "{% set names = {'string': 'str'} %}{% for type in ['string', ['string', 'null']] %}{{ names[type] or 'Any' }} {% endfor %}",
    "str Any ",
  ],
  [
    "Apriel 1.5, which counts no tools",
    "{% if tools is not none and tools | length > 0 %}tools{% endif %}none",
    "none",
  ],
  [
    "Apriel 1.5 and 1.6, which write tools as Python does",
    "{{ tool | string }}",
    String.raw`{'name': 'f', 'text': "it's", 'quotes': '\'"\n', 'on': True, 'list': [1, 0.5, None]}`,
  ],
  [
    "Seed, whose budgets are keys",
    "{% set budgets = {0: 0, 512: 128, 2048: 512, 16384: 1024} %}{% for key, value in budgets | dictsort if key >= 512 %}{{ key }}={{ value }} {% endfor %}{{ budgets[16384] }}{{ budgets[1] }}",
    "512=128 2048=512 16384=1024 1024",
  ],
  [
    "Seed, which writes arguments as text",
    "{% for name, value in {'a': true, 'b': [1, 'x']} | items %}{{ name }}={{ value | string }} {% endfor %}",
    "a=True b=[1, 'x'] ",
  ],
  ["Gemma 4, which maps by a filter", "{{ ['a', 'b'] | map('upper') | join('+') }}", "A+B"],
];

test.each(CONSTRUCTS)("a template writes what Jinja does: %s", (_, source, written) => {
  const tool = { name: "f", text: "it's", quotes: "'\"\n", on: true, list: [1, 0.5, null] };
  expect(parseTemplate(source).render({ tool })).toBe(written);
});
