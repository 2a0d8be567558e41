import type { VirtualMachine } from '#test/lab/virtual-machine.ts';

/**
 * Looks at a machine when it is powered on from its disk, before its system can change a byte: the launcher holds the
 * power-on back for that second or two.
 * @param look answers `undefined` where what it looks for is not there yet: it is asked again at the next power-on
 * @returns gives what was found, `undefined` before; what `look` threw is thrown there.
 */
export function lookBeforeBoot<T>(
  machine: Pick<VirtualMachine, 'onPowerOn'>,
  look: () => Promise<T | undefined> | T | undefined,
): () => Promise<T | undefined> {
  let found: Promise<T | undefined> = Promise.resolve(undefined);
  machine.onPowerOn(async (order) => {
    if (order[0] !== 'disk') return;
    const settled = await Promise.allSettled([found]);
    if (settled[0].status === 'rejected' || settled[0].value !== undefined) return;
    found = (async () => look())();
    await Promise.allSettled([found]);
  });
  return () => found;
}
