import { type Document, isScalar, visit } from 'yaml';

/** In time with the size: with twenty thousand keys the library's own check takes seconds, and is switched off. */
export function repeatedKeys(
  parsed: Document.Parsed,
): readonly { readonly pos: readonly [number, number]; readonly message: string }[] {
  const faults: { pos: [number, number]; message: string }[] = [];
  visit(parsed, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [from = 0, to = 0] = key.range ?? [];
        if (seen.has(key.value)) faults.push({ pos: [from, to], message: `key ${String(key.value)} is given twice` });
        seen.add(key.value);
      }
    },
  });
  return faults;
}
