import { expect, test } from 'vitest';
import { requireWritten, withRack } from '#test/support/swarm/with-rack.ts';

/** Twenty machines of a rack; needs root. */
const mib = 1024 * 1024;
const twenty = Array.from({ length: 20 }, (_, number) => number + 1);

test('twenty machines get most of an image from each other', () =>
  withRack(20, 32 * mib, async (rack) => {
    const origins = await requireWritten(rack, await rack.write(twenty));
    expect(await rack.sent()).toBeLessThan(10 * rack.storedBytes);
    const [fetched, shared] = [origins.map((each) => each.fetched), origins.map((each) => each.neighbours)].map(
      (list) => list.reduce((sum, bytes) => sum + bytes, 0),
    );
    expect(shared).toBeGreaterThan(fetched ?? 0);
  }));

test('with neighbours that lie, stall, and are killed, the others get the image', () =>
  withRack(20, 16 * mib, async (rack) => {
    await rack.misbehave(1, 'lies');
    await rack.misbehave(2, 'stalls');
    const machines = await rack.write(twenty.slice(2));
    const [killed, others] = [machines.slice(0, 4), machines.slice(4)];
    for (const each of killed) each.kill();
    await requireWritten(rack, others);
    expect((await Promise.allSettled(killed.map(({ written }) => written))).map(({ status }) => status)).toContain(
      'rejected',
    );
  }));
