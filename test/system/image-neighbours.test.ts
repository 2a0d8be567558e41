import { expect, test } from 'vitest';
import { requireWritten, withRack } from '#test/support/swarm/with-rack.ts';

/** Machines that write the same image, in network namespaces; needs root. More of them: `image-rack.test.ts`. */
const mib = 1024 * 1024;

test('each gets most of the image from the others; one that lies costs nobody the image', () =>
  withRack(5, 12 * mib, async (rack) => {
    await rack.misbehave(5, 'lies');
    const machines = await rack.write([1, 2, 3, 4]);
    const origins = await requireWritten(rack, machines);
    for (const { neighbours } of origins) expect(neighbours).toBeGreaterThan(0);
    expect(await rack.sent()).toBeLessThan(4 * rack.storedBytes);
  }));
