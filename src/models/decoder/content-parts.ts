import { parseTemplate, type Template } from "./jinja.js";

/** A parsed chat template. */
export interface ParsedTemplate {
  render(items: Record<string, unknown>): string;
}

/**
 * A template of a model that also sees may read the content of a message as a list of parts alone, and would
 * pass over a text in silence (SmolVLM, Llama Guard 3 1B): it is given such lists.
 */
export function parseChatTemplate(source: string): ParsedTemplate {
  const template = parseTemplate(source);
  let wantsParts: boolean | undefined = /['"]type['"]|\.type\b/.test(source) ? undefined : false;
  return {
    render(items) {
      wantsParts ??= readsPartsOnly(template, items);
      return template.render(wantsParts ? withParts(items) : items);
    },
  };
}

const PROBE = "probe";

function readsPartsOnly(template: Template, items: Record<string, unknown>): boolean {
  const probe = { ...items, messages: [{ role: "user", content: PROBE }] };
  const says = (given: Record<string, unknown>) => {
    try {
      return template.render(given).includes(PROBE);
    } catch {
      return false;
    }
  };
  return !says(probe) && says(withParts(probe));
}

function withParts(items: Record<string, unknown>): Record<string, unknown> {
  const messages: readonly unknown[] = Array.isArray(items["messages"]) ? items["messages"] : [];
  return { ...items, messages: messages.map(toParts) };
}

function toParts(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return message;
  if (!("content" in message) || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}
