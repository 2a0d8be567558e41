import type { Proof } from '#test/lab/proofs/proof.ts';
import type { SeenInstance } from '#test/lab/redeploy/look-at-instance.ts';
import type { DisksLook } from '#test/lab/redeploy/watch-disks.ts';
import type { PortChange } from '#test/lab/redeploy/watch-port.ts';

/** The node is back, and it is another: all that an instance is told apart by has changed. */
export function proveNewInstance({ before, after }: { before: SeenInstance; after: SeenInstance }): Proof[] {
  const pairs = [
    ['instance UUID', before.uuid, after.uuid],
    ['boot', before.beacon.bootId, after.beacon.bootId],
    ['mark on its disk', before.storage.mark, after.storage.mark],
  ] as const;
  const same = pairs.filter(([, old, now]) => old === now).map(([what]) => what);
  return [
    {
      what: 'the node is back with a new instance',
      holds: same.length === 0,
      seen: same.length === 0 ? `${before.uuid} is now ${after.uuid}` : `the same as before: ${same.join(', ')}`,
    },
  ];
}

/**
 * Proves by the switch's own record: off the tenant network before anything boots from the network, in the provisioning
 * network whenever it does, in no network between the two, and back at last.
 */
export function provePort(changes: readonly PortChange[], looks: readonly DisksLook[]): Proof {
  const networkAt = (at: number): string => changes.findLast((change) => change.at <= at)?.network ?? 'tenant';
  const ramdisks = looks.filter(({ boots }) => boots === 'pxe');
  const [wipe, deploy] = ramdisks;
  const [left] = changes;
  const away = changes.slice(
    0,
    changes.findLastIndex(({ network }) => network === 'tenant'),
  );
  return {
    what: 'switch port as the machine moves: never tenant while a ramdisk runs',
    holds:
      left?.network === 'none' &&
      !left.isOn &&
      wipe !== undefined &&
      ramdisks.every(({ at }) => networkAt(at) === 'provisioning') &&
      away.every(({ network }) => network !== 'tenant') &&
      changes.some(({ at, network }) => network === 'none' && at > wipe.at && at < (deploy?.at ?? 0)) &&
      changes.at(-1)?.network === 'tenant',
    seen: ['tenant', ...changes.map(({ network, isOn }) => `${network}${isOn ? '' : ' (off)'}`)].join(' → '),
  };
}
