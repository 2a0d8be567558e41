import { describe, expect, test } from 'vitest';
import { makeQcow2, type Qcow2Options } from '#agent/image/testing/make-qcow2.ts';
import { failure, failureOf, mib, type Setup, write } from '#agent/image/testing/write-to-fake-disk.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** 6.5 MiB and a sector: data, holes of all sizes, and an end within a cluster. */
const disk = Buffer.alloc(6.5 * mib + 512);
for (let at = 0; at < 1_800_000; at += 4) disk.writeUInt32LE(((at * 2_654_435_761) % 0xffffffff) >>> 0, at);
disk.fill('text that shrinks ', 2 * mib, 3 * mib + 200_000);
disk.fill('island', 4 * mib + 70_000, 4 * mib + 70_100);
disk.fill('tail', 6 * mib);

const reversed: Qcow2Options = { order: (clusters) => clusters.toReversed() };

/** Writes the disk as qcow2: which requests it took, and `written` when every byte is right and none behind the image changed. */
async function writeAs(
  options: Qcow2Options,
  setup: Setup = {},
): Promise<{ readonly result: string; readonly requests: readonly string[] }> {
  const { content, error, written, requests } = await write({ data: makeQcow2(disk, options), ...setup });
  if (error !== undefined) return { result: errorChain(error), requests };
  const isRight =
    written?.imageBytes === disk.length &&
    written.head.equals(disk.subarray(0, mib)) &&
    content.subarray(0, disk.length).equals(disk) &&
    content.subarray(disk.length).every((byte) => byte === 0xaa);
  return { result: isRight ? 'written' : 'wrong bytes', requests };
}

const layouts: readonly Qcow2Options[] = [
  {},
  { version: 2 },
  { clusterBits: 9 },
  { clusterBits: 12 },
  { clusterBits: 21 },
  { cutsLastCluster: true },
  { compression: 'deflate' },
  { compression: 'deflate', version: 2, clusterBits: 12 },
  { compression: 'deflate', clusterBits: 21 },
  { compression: 'zstd' },
  { compression: 'zstd', clusterBits: 9 },
];

describe('every byte gets to its place', () => {
  test.each(layouts)('%j', async (options) => {
    expect(await writeAs(options)).toMatchObject({ result: 'written' });
  });

  test.each(layouts.filter((each) => !each.cutsLastCluster))(
    'with the tables behind the data and the clusters in disorder: %j',
    async (options) => {
      const outcome = await writeAs({ ...options, ...reversed, tables: 'behind data' });
      expect(outcome).toMatchObject({ result: 'written' });
    },
  );

  test.each(layouts)('from a server without ranges: %j', async (options) => {
    const order = options.cutsLastCluster ? {} : reversed;
    const outcome = await writeAs({ ...options, ...order }, { always: { ignoreRange: true } });
    expect(outcome).toMatchObject({ result: 'written' });
  });

  test.each([
    ['that can not zero', { offload: false }],
    ['that is rotational', { rotational: true }],
  ])('on a disk %s', async (_name, fields) => {
    expect(await writeAs({}, { disk: fields })).toMatchObject({ result: 'written' });
  });
});

test.each([
  ['refuses ranges (416)', { refusesRanges: true }],
  ['calls all of the file a range', { rangeFromStart: true }],
])('an image in disorder from a server that %s', async (_what, always) => {
  expect(await writeAs(reversed, { always })).toMatchObject({ result: 'written' });
});

describe('requests', () => {
  test('tables near the beginning need none of their own', async () => {
    expect(await writeAs({})).toEqual({ result: 'written', requests: ['whole'] });
  });

  test('tables behind the data are read first', async () => {
    const { result, requests } = await writeAs({ tables: 'behind data' });
    const [first, ...others] = requests;
    expect(result).toBe('written');
    expect(first).toBe('whole');
    expect(others.length).toBeGreaterThan(0);
    expect(others.every((range) => /^bytes=\d+-\d+$/.test(range))).toBe(true);
  });

  test('a connection that breaks is resumed', async () => {
    expect(await writeAs({}, { behaviours: [{ dropAfter: 2_500_000 }] })).toEqual({
      result: 'written',
      requests: ['whole', expect.stringMatching(/^bytes=\d+-$/)],
    });
  });

  test('a piece that breaks off is read again', async () => {
    const broken = { behaviours: [{}, { dropAfter: 3 }, { status: 503 }] };
    const { result, requests } = await writeAs({ tables: 'behind data' }, broken);
    expect(result).toBe('written');
    expect(requests.length).toBeGreaterThan(3);
  });
});

describe('nothing unverified makes the disk bootable', () => {
  test('a wrong checksum', async () => {
    const outcome = await write({
      data: makeQcow2(disk),
      options: { checksum: { algorithm: 'sha256', hex: 'a'.repeat(64) } },
    });
    expect(failureOf(outcome)).toEqual(failure('image_error', /sha256 is not aaaa/));
  });

  test('tables that are others when they pass', async () => {
    const data = makeQcow2(disk, { tables: 'behind data' });
    const other = Buffer.from(data);
    other.writeBigUInt64BE(0n, other.length - 65_536 + 64);
    const outcome = await write({ data, behaviours: [{}], always: { body: other } });
    expect(failureOf(outcome)).toEqual(failure('image_error', /changed while it was being downloaded/));
  });

  test('a file that is cut short', async () => {
    const data = makeQcow2(disk).subarray(0, 2 * mib);
    const outcome = await write({ data, always: { ignoreRange: true } });
    expect(failureOf(outcome)).toEqual(failure('image_error', /a cluster is said to be at byte \d+ of 2097152/));
  });
});

describe('refused before the disk is touched', () => {
  test.each<[string, Setup, string, RegExp]>([
    [
      'a beginning that is not wanted, wherever it is in the file',
      {
        data: makeQcow2(disk, { ...reversed, compression: 'zstd' }),
        options: {
          checkHead: (head) => {
            if (head.readUInt32LE(4) === disk.readUInt32LE(4)) throw new AppError('image_error', 'not wanted');
          },
        },
      },
      'image_error',
      /not wanted/,
    ],
    [
      'a disk too small',
      { data: makeQcow2(disk), disk: { sizeBytes: 4 * mib } },
      'storage_error',
      /needs 6816256 bytes/,
    ],
    [
      'a server that does not tell the length',
      { data: makeQcow2(disk), always: { chunked: true } },
      'not_supported',
      /does not say how long/,
    ],
    [
      'raw where qcow2 was declared',
      { data: disk, options: { declaredFormat: 'qcow2' } },
      'image_error',
      /"qcow2", but/,
    ],
  ])('%s', async (_name, setup, code, text) => {
    const outcome = await write(setup);
    expect(failureOf(outcome)).toEqual(failure(code, text));
    expect(outcome.opened).toBe(false);
  });
});

test.each([{ ignoreRange: true }, { refusesRanges: true }, { rangeFromStart: true }])(
  'a server without ranges, and tables behind the data, leave a disk that does not boot: %j',
  async (always) => {
    const data = makeQcow2(disk, { tables: 'behind data' });
    const outcome = await write({ data, always });
    expect(failureOf(outcome)).toEqual(
      failure('not_supported', /gives no ranges .* serve it with ranges, or convert it/),
    );
  },
);
