import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import { foldRepeats } from '#conductor/sites/documents/fold-repeats.ts';

const fault: fc.Arbitrary<SiteFault> = fc
  .record({ level: fc.constantFrom('Error', 'Warning'), message: fc.constantFrom('a', 'b'), node: fc.nat(99) })
  .map(({ node, ...rest }) => ({ ...rest, name: 'X', document: { schema: 's', name: `n${node}` } }));

test('at most five of each, none of a kind lost, and the sum is right', () => {
  fc.assert(
    fc.property(fc.array(fault, { maxLength: 60 }), (faults) => {
      const folded = foldRepeats(faults);
      const kinds = (list: readonly SiteFault[]) =>
        Map.groupBy(list, ({ level, message }) => `${level} ${message.charAt(0)}`);
      for (const [kind, all] of kinds(faults)) {
        const faultTexts = kinds(folded).get(kind) ?? [];
        expect(faultTexts).toHaveLength(Math.min(all.length, 5));
        const more = Number(/the same in (\d+) more/.exec(faultTexts.at(-1)?.message ?? '')?.[1] ?? 0);
        expect(faultTexts.length + more).toBe(all.length);
      }
      expect(kinds(folded).size).toBe(kinds(faults).size);
    }),
  );
});
