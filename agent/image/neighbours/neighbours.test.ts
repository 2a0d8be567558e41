import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { expect, test } from 'vitest';
import type { WrittenBytes } from '#agent/image/disk/image-target.ts';
import type { Sharing } from '#agent/image/neighbours/share.ts';
import {
  createTracker,
  misbehaviours,
  startMisbehaving,
  startSharing,
  type Tracker,
} from '#agent/image/neighbours/testing/swarm.ts';
import { createFakeDisk } from '#agent/image/testing/fake-disk.ts';
import { makeChunksAtBlocks, serveFiles } from '#agent/image/testing/serve-chunks.ts';
import { mib, sha256 } from '#agent/image/testing/write-to-fake-disk.ts';
import { writeImage } from '#agent/image/write-image.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { silentLog } from '#shared/log.ts';
import { array, assert, asyncProperty, constantFrom, integer, nat } from '#test/fuzz/fast-check.ts';
import { noise } from '#test/support/noise.ts';

const sizes = { min: 16 * 1024, avg: 32 * 1024, max: 128 * 1024 };
const image = Buffer.concat([noise('head', 3 * mib), Buffer.alloc(mib), noise('tail', 2 * mib + 1000)]);
const { index, store } = makeChunksAtBlocks(image, sizes);
const storeBytes = [...store.values()].reduce((sum, { length }) => sum + length, 0);

interface Outcome {
  readonly written?: WrittenBytes;
  readonly error?: string;
  /** All of the image is there. */
  readonly isWhole: boolean;
  /** The first MiB is as it was before. */
  readonly isUntouched: boolean;
}

async function write(
  url: string,
  sharing: Pick<Sharing, 'share'>,
  signal = new AbortController().signal,
): Promise<Outcome> {
  await using disk = await createFakeDisk(8 * mib, true);
  const seen = async () => {
    const content = await disk.content();
    return {
      isWhole: content.subarray(0, image.length).equals(image),
      isUntouched: content.subarray(0, mib).every((byte) => byte === 0xaa),
    };
  };
  try {
    const written = await writeImage(disk, () => disk.open(), {
      urls: [`${url}disk.caibx`],
      checksum: { algorithm: 'sha256', hex: sha256(index) },
      clock: systemClock,
      log: silentLog,
      signal,
      reportProgress: () => undefined,
      maxTries: 2,
      retryDelayMs: 0,
      share: sharing.share,
    });
    return { written, ...(await seen()) };
  } catch (error) {
    return { error: errorChain(error), ...(await seen()) };
  }
}

/** A server that is the bottleneck: one chunk at a time, each of which takes a moment. */
async function serveSlowly(ms: number, fails: (request: number) => boolean = () => false) {
  const inTurn = limitAtOnce({ most: 1 });
  return serveFiles(async (path, number) => {
    if (path === 'disk.caibx') return index;
    await inTurn(() => systemClock.sleep(ms));
    return fails(number) ? Buffer.from('no') : store.get(path);
  });
}

test('machines that write the same image fetch each chunk from the server about once', async () => {
  await using server = await serveSlowly(30);
  const tracker = createTracker();
  const sharings = ['a', 'b', 'c', 'd'].map((name) => startSharing(tracker, name));
  try {
    const outcomes = await Promise.all(sharings.map((sharing) => write(server.url, sharing)));
    expect(outcomes.map(({ error, isWhole }) => error ?? isWhole)).toEqual([true, true, true, true]);
    const origins = outcomes.map(({ written }) => written?.origin);
    const fetched = origins.reduce((sum, origin) => sum + (origin?.fetched ?? 0), 0);
    expect(fetched).toBeLessThan(3 * storeBytes);
    for (const origin of origins) expect(origin?.neighbours).toBeGreaterThan(0);
  } finally {
    for (const sharing of sharings) await sharing.close();
  }
});

test('who comes later gets what others have written from them, read back from their disks', async () => {
  await using server = await serveSlowly(1);
  const tracker = createTracker();
  await using first = startSharing(tracker, 'first');
  await using second = startSharing(tracker, 'second');
  await using disk = await createFakeDisk(8 * mib, true);
  const options = {
    checksum: { algorithm: 'sha256' as const, hex: sha256(index) },
    clock: systemClock,
    log: silentLog,
  };
  const written = await writeImage(disk, () => disk.open(), {
    ...options,
    urls: [`${server.url}disk.caibx`],
    signal: new AbortController().signal,
    reportProgress: () => undefined,
    share: first.share,
  });
  expect(written.origin?.neighbours).toBe(0);
  const before = server.requests.length;
  const slow = await serveSlowly(200);
  await using _slow = slow;
  const outcome = await write(slow.url, second);
  expect(outcome).toMatchObject({ isWhole: true });
  expect(before).toBeGreaterThan(0);
  expect(outcome.written?.origin?.neighbours).toBeGreaterThan(storeBytes / 2);
  // of what has changed on the first one's disk since, it sends nothing
  await first.close();
});

test.each(Object.keys(misbehaviours))('a neighbour that %s costs nothing but a try', async (name) => {
  await using server = await serveSlowly(4);
  const tracker = createTracker();
  await using bad = await startMisbehaving(tracker, 'bad', misbehaviours[name] as (typeof misbehaviours)[string]);
  await using sharing = startSharing(tracker, 'good');
  const outcome = await write(server.url, sharing);
  expect(outcome).toMatchObject({ isWhole: true, written: { origin: { neighbours: 0 } } });
  // four answers without a chunk and six rests, if it is asked until the end
  const isForgiven = /has nothing|soon|busy|never answers/.test(name);
  expect(bad.asked()).toBeLessThanOrEqual(isForgiven ? 11 : 1);
});

test('without a conductor that answers, or a neighbour, it is written from the server', async () => {
  await using server = await serveSlowly(1);
  await using down = startSharing(createTracker({ fails: true }), 'a');
  await using alone = startSharing(createTracker(), 'b');
  for (const sharing of [down, alone]) {
    expect(await write(server.url, sharing)).toMatchObject({ isWhole: true, written: { origin: { neighbours: 0 } } });
  }
});

test('any neighbours, any faults of the server: it is the image in the end, or nothing that boots', async () => {
  const kinds = constantFrom(...Object.values(misbehaviours));
  const property = asyncProperty(
    integer({ min: 1, max: 3 }),
    array(kinds, { maxLength: 3 }),
    array(nat(400), { maxLength: 3 }),
    array(nat(300), { maxLength: 2 }),
    async (good, bad, failing, killedAfter) => {
      await using server = await serveSlowly(3, (number) => failing.includes(number));
      const tracker = createTracker();
      const misbehaving = await Promise.all(
        bad.map((kind, number) => startMisbehaving(tracker, `bad ${number}`, kind)),
      );
      const sharings = Array.from({ length: good }, (_, number) => startSharing(tracker, `good ${number}`));
      const outcomes = await Promise.all(
        sharings.map(async (sharing, number) => {
          const killed = new AbortController();
          const after = killedAfter[number];
          const timer = after === undefined ? undefined : setTimeout(() => killed.abort(), after);
          const outcome = await write(server.url, sharing, killed.signal);
          clearTimeout(timer);
          return outcome;
        }),
      );
      for (const each of [...sharings, ...misbehaving]) await each[Symbol.asyncDispose]();
      for (const { error, isWhole, isUntouched } of outcomes) {
        expect(error === undefined ? isWhole : isUntouched).toBe(true);
      }
    },
  );
  await assert(property, { numRuns: 12, endOnFailure: true });
});

/** The status of a request to a machine that shares an image, as a stranger sends it. */
function ask(url: string, path: string, authorization?: string): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    request(new URL(path, url), { rejectUnauthorized: false, headers }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes }));
    })
      .on('error', reject)
      .end();
  });
}

async function urlOf(tracker: Tracker, name: string): Promise<string> {
  const asked = await tracker.ask('observer')({ image: 'a'.repeat(64), port: 1, certificate_sha256: 'b'.repeat(64) });
  const id = sha256(Buffer.from(name)).slice(0, 16);
  return asked.neighbours.find((neighbour) => neighbour.id === id)?.url ?? '';
}

test('who has no ticket for this image gets nothing, and nobody once the machine is done', async () => {
  await using server = await serveSlowly(1);
  const tracker = createTracker();
  await using sharing = startSharing(tracker, 'a');
  await using disk = await createFakeDisk(8 * mib, true);
  const share = { current: undefined as ReturnType<Sharing['share']> | undefined };
  await writeImage(disk, () => disk.open(), {
    urls: [`${server.url}disk.caibx`],
    checksum: { algorithm: 'sha256', hex: sha256(index) },
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    reportProgress: () => undefined,
    share: (name) => {
      share.current = sharing.share(name);
      return share.current;
    },
  });
  const url = await urlOf(tracker, 'a');
  const [path = ''] = [...store.keys()].slice(-1);
  const chunk = `/${/([0-9a-f]{64})\.cacnk$/.exec(path)?.[1]}`;
  const ticket = (fields: Parameters<Tracker['sign']>[0]): string => `Bearer ${tracker.sign(fields)}`;

  expect(await ask(url, chunk, ticket({}))).toMatchObject({ status: 200 });
  const refused = [
    undefined,
    'Bearer x',
    `Basic ${tracker.sign({})}`,
    ticket({ group: sha256(Buffer.from('another project')) }),
    ticket({ expires: Date.now() - 1 }),
    `Bearer ${createTracker().sign({})}`,
  ];
  for (const authorization of refused) {
    for (const where of [chunk, '/']) {
      expect([where, authorization, await ask(url, where, authorization)]).toEqual([
        where,
        authorization,
        { status: 401, bytes: 0 },
      ]);
    }
  }
  expect(await ask(url, `/${'0'.repeat(64)}`, ticket({}))).toMatchObject({ status: 404 });
  expect(await ask(url, '/../../etc/passwd', ticket({}))).toMatchObject({ status: 404 });
  // what is on the disk is not what it was
  await writeFile(disk.name, Buffer.alloc(8 * mib));
  expect(await ask(url, chunk, ticket({}))).toMatchObject({ status: 404 });
  share.current?.end();
  await expect(ask(url, chunk, ticket({}))).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket/);
});
