import { describe, expect, test } from 'vitest';
import { type Behaviour, serveImage } from '#agent/image/testing/image-server.ts';
import { failure, failureOf, image, isWritten, write } from '#agent/image/testing/write-to-fake-disk.ts';
import { errorChain, faultOf } from '#shared/errors/app-error.ts';
import { createLog } from '#shared/log.ts';

describe('connections that break', () => {
  test('are resumed at the byte reached', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 1_500_000 }, { dropAfter: 1_000_000 }] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests).toHaveLength(3);
    expect(outcome.requests.slice(1)).toEqual([
      expect.stringMatching(/^bytes=\d+-$/),
      expect.stringMatching(/^bytes=\d+-$/),
    ]);
    expect(outcome.sleeps).toEqual([]);
  });

  test('are restarted on a server without ranges, without touching what is written', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { ignoreRange: true }] });
    expect(isWritten(outcome)).toBe(true);
  });

  test.each<[string, Behaviour]>([
    ['another ETag, and answers with the whole file', { etag: '"v2"' }],
    ['another ETag, and answers the range all the same', { etag: '"v2"', ignoreCondition: true }],
    ['another time of change', { etag: '', lastModified: 'Tue, 24 Nov 2026 10:00:00 GMT' }],
  ])('go on where another server behind the name has %s', async (_what, behaviour) => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, behaviour] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests).toHaveLength(2);
  });

  test('fail by the checksum when the image has changed meanwhile', async () => {
    const body = Buffer.from(image).fill('new', 3_000_000, 3_000_100);
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { etag: '"v2"', body }] });
    expect(failureOf(outcome)).toEqual(failure('image_error', /sha256 is not/));
  });

  test('go on at the next try when one server has a file of another length', async () => {
    const body = image.subarray(0, 4_000_000);
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { etag: '"v2"', body }, {}] });
    expect(isWritten(outcome)).toBe(true);
  });

  test.each([
    ['one server', 1, 4],
    ['each of several servers', 5, 6],
  ])('end once %s has a file of another length, three answers at least', async (_what, servers, requests) => {
    const body = image.subarray(0, 4_000_000);
    const url = ({ url: server }: { readonly url: string }): readonly string[] => Array<string>(servers).fill(server);
    await using server = await serveImage(image, [{ dropAfter: 2_500_000 }], { etag: '"v2"', body });
    const shorter = await write({ options: { urls: url(server), maxTries: 100 } });
    expect(server.requests).toHaveLength(requests);
    expect(failureOf(shorter)).toEqual(failure('unavailable', / has 4000000 bytes now where it had 5242980/));
    expect(faultOf(shorter.error).code).toBe('image_replaced');
  });

  test('are read from the start where a server answers with another range than it was asked for', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }, { shiftsRange: 10 }, {}] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests.map((range) => range === 'whole')).toEqual([true, false, true]);
  });

  test.each<[string, readonly Behaviour[], Behaviour]>([
    ['that it can not reach it (416)', [{ dropAfter: 2_500_000 }], { refusesRanges: true }],
    [
      'so, and breaks again',
      [{ dropAfter: 2_500_000 }, { status: 416 }, { dropAfter: 3_000_000 }],
      { refusesRanges: true },
    ],
    ['with a range from the start (206)', [{ dropAfter: 2_500_000 }], { rangeFromStart: true }],
    ['with all of it (200)', [{ dropAfter: 2_500_000 }], { ignoreRange: true }],
    [
      'that there is no more (416), where none knew the length',
      [{ chunked: true, dropAfter: image.length }],
      { refusesRanges: true, chunked: true },
    ],
  ])('go on in what a server without that range has, which answers %s', async (_what, behaviours, always) => {
    const outcome = await write({ behaviours, always });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.written?.imageBytes).toBe(image.length);
    // each range that it refuses costs one try
    expect(outcome.requests.length).toBeLessThanOrEqual(4);
  });

  test('end where a server says 416 to all', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 2_500_000 }], always: { status: 416 } });
    expect(failureOf(outcome)).toEqual(
      failure('unavailable', /gave up after 4 tries: .* does not reach byte \d+ now where it had 5242980/),
    );
  });

  test.each<[string, readonly Behaviour[]]>([
    ['only the second answer knows the length', [{ chunked: true, dropAfter: 2_500_000 }, {}]],
    ['only the first answer knows the length', [{ dropAfter: 2_500_000 }, { hidesTotal: true }]],
    [
      'no answer knows the length',
      [
        { chunked: true, dropAfter: 2_500_000 },
        { chunked: true, hidesTotal: true },
      ],
    ],
    ['a range ends before the file', [{ dropAfter: 2_500_000 }, { rangeBytes: 1_000_000 }, { rangeBytes: 1_000_000 }]],
  ])('are resumed where %s', async (_name, behaviours) => {
    const outcome = await write({ behaviours });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests.filter((request) => request === 'whole')).toHaveLength(1);
  });

  test('are given up after the tries', async () => {
    const outcome = await write({
      behaviours: [{ dropAfter: 2_000_000 }, { dropAfter: 0 }, { dropAfter: 0 }, { dropAfter: 0 }],
    });
    expect(failureOf(outcome)).toEqual(
      failure('unavailable', /gave up after 4 tries: the connection ended after \d+ of 5242980 bytes/),
    );
    expect(outcome.sleeps).toEqual([10_000, 10_000]);
  });

  test('a server that is busy is asked again', async () => {
    const outcome = await write({ behaviours: [{ status: 503 }, {}] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.sleeps).toEqual([10_000]);
  });

  test.each([
    ['30', 30_000],
    ['1', 10_000],
    ['86400', 120_000],
    ['soon', 10_000],
  ])('a server that takes no more requests for %j is asked again in %d ms', async (retryAfter, waitMs) => {
    const outcome = await write({ behaviours: [{ status: 429, retryAfter }, {}] });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.sleeps).toEqual([waitMs]);
  });

  test('a token that ends amid the file is said to have', async () => {
    const outcome = await write({ behaviours: [{ dropAfter: 1_500_000 }], always: { status: 401 } });
    expect(failureOf(outcome)).toEqual(
      failure('image_error', /answered 401, and gave bytes before: the token may have ended meanwhile/),
    );
    expect(failureOf(await write({ always: { status: 401 } }))).toEqual(failure('image_error', /answered 401$/));
  });

  test('a chunked body that ends early is not taken for whole', async () => {
    const outcome = await write({
      behaviours: [
        { chunked: true, dropAfter: 2_000_000 },
        { chunked: true, ignoreRange: true },
      ],
    });
    expect(isWritten(outcome)).toBe(true);
    expect(outcome.requests).toHaveLength(2);
  });
});

describe('several servers', () => {
  test('the next one is taken when the first has no image', async () => {
    await using other = await serveImage(image);
    await using missing = await serveImage(image, [{ status: 404 }]);
    expect(isWritten(await write({ options: { urls: [missing.url, other.url] } }))).toBe(true);
    expect(other.requests).toEqual(['whole']);
  });

  test('the next one takes over in the middle', async () => {
    await using first = await serveImage(image, [{ dropAfter: 3_000_000 }]);
    await using second = await serveImage(image);
    expect(isWritten(await write({ options: { urls: [first.url, second.url] } }))).toBe(true);
    expect(second.requests).toEqual([expect.stringMatching(/^bytes=\d+-$/)]);
  });

  test('the login does not follow to another scheme or port of the host', async () => {
    await using there = await serveImage(image);
    await using here = await serveImage(image, [{ location: there.url }]);
    await write({ options: { urls: [here.url], headers: { authorization: 'Basic c2VjcmV0' } } });
    expect(there.headers[0]?.authorization).toBeUndefined();
  });

  test('a query, which may be a signature, is in no message and no log', async () => {
    await using server = await serveImage(image, [{ status: 503 }, { status: 404 }]);
    const logged: unknown[] = [];
    const log = createLog({ component: 'test', tee: { write: (line) => void logged.push(line) } });
    const { error } = await write({ options: { urls: [`${server.url}?signature=s3cr3t`], log } });
    expect(errorChain(error)).toMatch(/fetch the image from .*disk.raw: /);
    expect(logged.length).toBeGreaterThan(0);
    expect(`${errorChain(error)} ${logged.join(' ')}`).not.toContain('s3cr3t');
  });

  test('a redirect is followed, without the login once the host changes', async () => {
    await using there = await serveImage(image);
    await using here = await serveImage(image, [{ location: there.url.replace('127.0.0.1', 'localhost') }]);
    expect(
      isWritten(await write({ options: { urls: [here.url], headers: { authorization: 'Basic c2VjcmV0' } } })),
    ).toBe(true);
    expect(here.headers[0]?.authorization).toBe('Basic c2VjcmV0');
    expect(there.headers[0]?.authorization).toBeUndefined();
  });
});

describe('a download that does not go on', () => {
  test('reports each failed try, why, and the server, until bytes come again', async () => {
    const { progress } = await write({ behaviours: [{ dropAfter: 2_500_000 }, { status: 503 }] });
    const troubled = progress.filter(({ last_error: error }) => error !== undefined);
    expect(troubled.length).toBeGreaterThan(1);
    expect(troubled.at(-1)).toMatchObject({
      tries: 2,
      last_error: expect.stringContaining('answered 503'),
      situation: 'image_server',
      subject: expect.stringMatching(/^http:/),
      rate: 0,
    });
    expect(progress.at(-1)).not.toHaveProperty('last_error');
  });
});
