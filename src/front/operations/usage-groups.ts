/** What usage may be summed by. */
export const USAGE_GROUPS = ["day", "project", "key", "model", "tier"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Groups of a list such as `day,key`; undefined where one is unknown, or comes twice. */
export function readGroups(text: string): readonly UsageGroup[] | undefined {
  const words = text.split(",");
  const groups = USAGE_GROUPS.filter((group) => words.includes(group));
  return groups.length === words.length ? groups : undefined;
}
