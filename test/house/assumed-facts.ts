/** Folders that read the outside: disks, firmware, BMCs, switches, clusters, inventories. */
export const readers = [
  'agent/boot/',
  'agent/erase/',
  'agent/hardware/',
  'agent/inspection/',
  'agent/storage/',
  'conductor/cluster/',
  'conductor/drivers/',
  'conductor/networks/switches/',
  'conductor/nodes/inspection/',
  'shared/disks/',
] as const;

/** A number or a word in place of what was not read. */
const assumed = /(?:\?\?|\|\|) *(?:\d[\d_]*\b|'(?!unknown'|other'|failed'|unreachable')[a-z][a-z ]*')/g;

/** Left of it: what operators or callers may leave out, counters, lengths. */
const ownDefault =
  /(?:\b(?:options|info|access|wanted|setting)\b[\w.?]*|\.get\([^()]*\)|\?\.length|\bmessage|\bid|httpStatusOf\(\w+\))\s*$/;

/** The one of several that stand in no order: a disk's links, serial numbers and WWNs, members, systems. */
const firstOfMany =
  /\b(?:links|symlinks|serials|wwns|aliases|systems|Members|Managers|ManagedBy)\b\)?(?:\?\.)?(?:\.find\(|\[0\]|\.at\(0\))/g;

/** Where a source takes for a fact what it has not read: `sizeBytes: node.size ?? 0`, one for each place. Pure. */
export function findAssumedFacts(text: string): string[] {
  // messages may say what they like
  const code = text.replaceAll(/\$\{[^{}]*\}/g, '').replaceAll(/^\s*(?:\*|\/\/|\/\*).*$/gm, '');
  return code.split('\n').flatMap((line) => {
    const facts = [...line.matchAll(assumed)].filter(({ index }) => !ownDefault.test(line.slice(0, index)));
    return facts.length + [...line.matchAll(firstOfMany)].length > 0 ? [line.trim()] : [];
  });
}
