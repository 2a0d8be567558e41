import type { SiteFault } from '#conductor/model/site-fault.ts';

/** So many documents are named for the same fault. */
const faultTexts = 5;

/**
 * One line of a profile is a fault of each of its thousand nodes: the first few are told, and how many more there are.
 * In the order in which they came. Pure.
 */
export function foldRepeats(faults: readonly SiteFault[]): SiteFault[] {
  const counts = new Map<string, number>();
  const keyOf = ({ level, name, message, rule = message, path, document }: SiteFault): string =>
    `${level}\n${name}\n${rule}\n${path ?? ''}\n${document?.schema ?? ''}`;
  for (const fault of faults) counts.set(keyOf(fault), (counts.get(keyOf(fault)) ?? 0) + 1);
  const seen = new Map<string, number>();
  return faults.flatMap((fault) => {
    const key = keyOf(fault);
    const place = (seen.get(key) ?? 0) + 1;
    seen.set(key, place);
    const all = counts.get(key) ?? 0;
    // one more than that needs no counting
    if (place < faultTexts || all === faultTexts) return [fault];
    if (place > faultTexts) return [];
    return [{ ...fault, message: `${fault.message} (and the same in ${all - faultTexts} more documents)` }];
  });
}
