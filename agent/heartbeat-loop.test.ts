import { describe, expect, test } from 'vitest';
import { createHeartbeatLoop } from '#agent/heartbeat.ts';
import { createManualClock } from '#agent/testing/fake-clock.ts';

function setUp(options: { readonly eager: boolean; readonly accepted?: boolean }) {
  const clock = createManualClock();
  const stop = new AbortController();
  const beats: number[] = [];
  const underWay = { count: 0, most: 0 };
  const duringBeat: (() => void)[] = [];
  const loop = createHeartbeatLoop({
    beat: async () => {
      underWay.count += 1;
      underWay.most = Math.max(underWay.most, underWay.count);
      beats.push(clock.now().getTime());
      duringBeat.shift()?.();
      await Promise.resolve();
      underWay.count -= 1;
      return options.accepted ?? true;
    },
    timeoutMs: () => 300_000,
    isEager: () => options.eager,
    clock,
    random: () => 0.5,
    signal: stop.signal,
  });
  return { clock, stop, beats, underWay, duringBeat, loop, running: loop.run() };
}

describe('createHeartbeatLoop', () => {
  test('beats at once, then after 0.3 to 0.6 of the time-out', async () => {
    const { clock, stop, beats, running } = setUp({ eager: false });
    expect(await clock.nextSleep()).toBe(135_000);
    expect(beats).toHaveLength(1);
    clock.advance(135_000);
    expect(await clock.nextSleep()).toBe(135_000);
    expect(beats).toHaveLength(2);
    stop.abort();
    await running;
  });

  test('tries again 5 to 10 s after a failure', async () => {
    const { clock, stop, running } = setUp({ eager: false, accepted: false });
    expect(await clock.nextSleep()).toBe(7500);
    stop.abort();
    await running;
  });

  test('Baton: a nudge beats at once', async () => {
    const { clock, stop, beats, loop, running } = setUp({ eager: true });
    await clock.nextSleep();
    loop.nudge();
    expect(await clock.nextSleep()).toBe(135_000);
    expect(beats).toEqual([beats[0], beats[0]]);
    stop.abort();
    await running;
  });

  test('Ironic: a nudge beats not sooner than 5 s after the beat before', async () => {
    const { clock, stop, beats, loop, running } = setUp({ eager: false });
    await clock.nextSleep();
    clock.advance(2000);
    loop.nudge();
    expect(await clock.nextSleep()).toBe(3000);
    clock.advance(3000);
    expect(await clock.nextSleep()).toBe(135_000);
    expect((beats[1] ?? 0) - (beats[0] ?? 0)).toBe(5000);
    stop.abort();
    await running;
  });

  test('a nudge during a beat is not lost, and beats never overlap', async () => {
    const { clock, stop, beats, underWay, duringBeat, loop, running } = setUp({ eager: true });
    await clock.nextSleep();
    duringBeat.push(() => loop.nudge());
    loop.nudge();
    expect(await clock.nextSleep()).toBe(135_000);
    expect(beats).toHaveLength(3);
    expect(underWay.most).toBe(1);
    stop.abort();
    await running;
  });
});
