import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLargeAnswers, type LargeAnswerLimits, type Sender } from '#shared/peers/large-answers.ts';
import { createInstantClock } from '#test/support/instant-clock.ts';

const limits: LargeAnswerLimits = { atOnce: 1, bytesPerSecond: 100, burstBytes: 1000, leastBytesPerSecond: 10 };
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

function senderOf(peer: string, cut: Sender['cut'] = () => undefined): Sender & { stop(): void } {
  const stopping = new AbortController();
  return { peer, cut, signal: stopping.signal, stop: () => stopping.abort(new Error(`${peer} gave up`)) };
}

test('who has sent less is read first, and who gives up holds nothing up', async () => {
  const answers = createLargeAnswers(limits, createInstantClock());
  const first = await answers.begin(senderOf('greedy'));
  await first.take(500);
  const begun: string[] = [];
  const begin = async (sender: Sender): Promise<void> => {
    const answer = await answers.begin(sender);
    begun.push(sender.peer);
    answer.end();
    answer.end();
  };
  const gone = senderOf('gone');
  const waits = [begin(senderOf('greedy')), begin(gone).catch(String), begin(senderOf('new'))];
  gone.stop();
  await setImmediate();
  expect(begun).toEqual([]);
  first.end();
  expect(await Promise.all(waits)).toEqual([undefined, 'Error: gone gave up', undefined]);
  expect(begun).toEqual(['new', 'greedy']);
  await expect(begin(gone)).rejects.toThrow('gone gave up');
});

test('beyond the burst, all of them together get so many bytes a second', async () => {
  const clock = createInstantClock();
  const answers = createLargeAnswers({ ...limits, atOnce: 2 }, clock);
  const [one, other] = [await answers.begin(senderOf('one')), await answers.begin(senderOf('other'))];
  await one.take(900);
  await other.take(100);
  expect(clock.sleeps).toEqual([]);
  await one.take(50);
  await other.take(200);
  expect(clock.sleeps).toEqual([500, 2000]);
});

test('a sender that is too slow is cut off while others wait, and only then', async () => {
  const cut: string[] = [];
  const answers = createLargeAnswers(limits, { ...createInstantClock(), sleep: () => new Promise(() => undefined) });
  const slow = await answers.begin(senderOf('slow', ({ message }) => cut.push(`slow: ${message}`)));
  vi.advanceTimersByTime(5000);
  const waits = answers.begin(senderOf('next', () => cut.push('next')));
  await slow.take(10);
  vi.advanceTimersByTime(1000);
  expect(cut).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(cut).toEqual(['slow: it sends too slowly for so large an answer']);
  slow.end();
  const next = await waits;
  void answers.begin(senderOf('last'));
  void next.take(2000); // waits for its bytes: it is not the sender that is slow
  vi.advanceTimersByTime(3000);
  expect(cut).toHaveLength(1);
});

test('a sender that began just now, or whose bytes had to wait, is given its second first', async () => {
  const cut: string[] = [];
  const paced = Promise.withResolvers<void>();
  const answers = createLargeAnswers(limits, { ...createInstantClock(), sleep: () => paced.promise });
  const first = await answers.begin(senderOf('first'));
  const waits = answers.begin(senderOf('second', () => cut.push('second')));
  void answers.begin(senderOf('third'));
  vi.advanceTimersByTime(990);
  first.end();
  const second = await waits;
  vi.advanceTimersByTime(10);
  expect(cut).toEqual([]);
  const taken = second.take(2000);
  vi.advanceTimersByTime(1990);
  paced.resolve();
  await taken;
  vi.advanceTimersByTime(10);
  expect(cut).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(cut).toEqual(['second']);
});
