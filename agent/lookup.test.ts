import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiClient } from '#agent/api/api-client.ts';
import { createAttester } from '#agent/attest.ts';
import { type LookupDependencies, lookup } from '#agent/lookup.ts';
import { createInstantClock, type InstantClock } from '#agent/testing/fake-clock.ts';
import {
  type FakeConductor,
  fakeNodeUuid,
  fakeToken,
  ironicFault,
  startFakeConductor,
} from '#agent/testing/fake-conductor.ts';
import { withoutTpm } from '#agent/tpm/open-tpm.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

const addresses = ['52:54:00:00:00:01', '52:54:00:00:00:02'];
const limits = { timeoutMs: 600_000, intervalMs: 1000 };
const refused = ironicFault(404, 'Resource could not be found.');

describe('lookup', () => {
  let conductor: FakeConductor;
  let clock: InstantClock;
  const closers: (() => Promise<void>)[] = [];
  const said: string[] = [];

  beforeEach(() => {
    clock = createInstantClock();
    said.length = 0;
  });
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  const setUp = async (
    options: Parameters<typeof startFakeConductor>[0] = {},
    overrides: Partial<LookupDependencies> & { readonly urls?: readonly string[] } = {},
  ): Promise<LookupDependencies> => {
    conductor = await startFakeConductor(options);
    closers.push(() => conductor.close());
    const api = createApiClient({
      urls: [...(overrides.urls ?? []), conductor.url],
      insecure: false,
      requestTimeoutMs: 60_000,
      globalRequestId: 'req-1',
      log: silentLog,
    });
    closers.push(() => api.close());
    return {
      api,
      attester: createAttester(withoutTpm, { log: silentLog, say: (line) => said.push(line) }),
      addresses: () => Promise.resolve(addresses),
      ownToken: () => undefined,
      clock,
      random: () => 0.5,
      log: silentLog,
      say: (line) => said.push(line),
      signal: new AbortController().signal,
      ...overrides,
    };
  };

  test('tells what a conductor allows of images, and nothing where it is silent', async () => {
    const config = {
      permitted_image_formats: ['raw', 'iso'],
      baton: {
        progress_interval_ms: 1000,
        run_image_programs: true,
        fetch_from: { allow: ['192.0.2.0/24', 'images.example'], allow_loopback: false },
      },
    };
    expect(await lookup(await setUp({ config }), limits)).toMatchObject({
      imagePolicy: {
        permittedFormats: ['raw', 'iso'],
        runImagePrograms: true,
        fetchFrom: { allow: { names: ['images.example'] }, allowLoopback: false, connectsHere: true },
      },
    });
    expect((await lookup(await setUp(), limits)).imagePolicy).toEqual({});
  });

  test('finds the node by its MAC addresses', async () => {
    const found = await lookup(await setUp(), limits);
    expect(found).toEqual({
      uuid: fakeNodeUuid,
      properties: { cpu_arch: 'x86_64' },
      instanceInfo: {},
      driverInternalInfo: {},
      heartbeatTimeoutMs: 300_000,
      token: fakeToken,
      imagePolicy: {},
      baton: undefined,
      apiVersion: 96,
    });
    const [discovery, asked] = conductor.seen;
    expect(discovery).toMatchObject({ method: 'GET', path: '/', version: undefined });
    expect(asked).toMatchObject({ method: 'GET', query: { addresses: addresses.join(',') }, version: '1.62' });
  });

  test("knows Baton's conductor", async () => {
    const found = await lookup(await setUp({ config: { baton: { progress_interval_ms: 500 } } }), limits);
    expect(found.baton).toEqual({ progressIntervalMs: 500, imageNeighbours: false });
  });

  test('tries again after every failure, in random exponential time', async () => {
    const dependencies = await setUp();
    conductor.answerNext(
      /lookup/,
      refused,
      ironicFault(400, 'bad'),
      { status: 500 },
      { status: 200, body: { node: {} } },
    );
    expect((await lookup(dependencies, limits)).uuid).toBe(fakeNodeUuid);
    expect(clock.sleeps).toEqual([1000, 2000, 4000, 8000]);
    expect(said.join('\n')).toContain('lookup try 1 failed: the conductor refused to look up');
    expect(said.join('\n')).toContain('404: Resource could not be found.');
  });

  test('does not take a load balancer without conductors for an API without tokens', async () => {
    const dependencies = await setUp();
    conductor.answerNext(/^\/$/, { status: 503 }, { status: 504 });
    expect((await lookup(dependencies, limits)).token).toBeDefined();
    expect(said.join('\n')).toContain('it answered 504');
  });

  test('waits 5, 10 and 30 s more while the node is locked', async () => {
    const dependencies = await setUp();
    const locked = ironicFault(409, 'Node is locked');
    conductor.answerNext(/lookup/, locked, locked, locked, locked);
    await lookup(dependencies, limits);
    expect(clock.sleeps).toEqual([6000, 12_000, 34_000, 38_000]);
  });

  test('never waits more than 60 s, and gives up after the time-out with the last reason', async () => {
    const dependencies = await setUp();
    conductor.answerNext(/lookup/, ...Array.from({ length: 100 }, () => refused));
    const failure = await lookup({ ...dependencies, random: () => 0.999 }, limits).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'timeout', cause: { code: 'not_found' } });
    expect(Math.max(...clock.sleeps)).toBeLessThanOrEqual(60_000);
    expect(clock.sleeps.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(600_000);
  });

  test('goes on to the next address of the API, and stays there', async () => {
    const dependencies = await setUp({}, { urls: ['http://127.0.0.1:1'] });
    await lookup(dependencies, limits);
    expect(clock.sleeps).toEqual([]);
    expect(dependencies.api.currentUrl()).toBe(conductor.url);
  });

  test('says of every address why it did not answer', async () => {
    const dependencies = await setUp();
    const api = createApiClient({
      urls: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
      insecure: false,
      requestTimeoutMs: 60_000,
      log: silentLog,
    });
    closers.push(() => api.close());
    await expect(lookup({ ...dependencies, api }, { timeoutMs: 0, intervalMs: 1 })).rejects.toMatchObject({
      cause: { code: 'unavailable', message: 'GET / at http://127.0.0.1:1, http://127.0.0.1:2' },
    });
  });

  test('shows what its machine was booted with', async () => {
    const bootToken = 'b'.repeat(43);
    const shown = async () => (await conductor?.requests(/lookup/, 1))?.[0]?.bootToken;
    await lookup(await setUp({}, { bootToken }), limits);
    expect(await shown()).toBe(bootToken);
    await lookup(await setUp(), limits);
    expect(await shown()).toBeUndefined();
  });

  test('says why it was not attested, in a header that every proxy passes on', async () => {
    const shown = async () => (await conductor?.requests(/lookup/, 1))?.[0]?.attestationProblem;
    await lookup(await setUp(), limits);
    expect(await shown()).toBe('no TPM 2.0');
    const cause = new Error(`\u00fcber\r\nx-other: 1 ${'long '.repeat(100)}`);
    const refuse = () => Promise.reject(new AppError('unavailable', 'open the TPM at /dev/tpmrm0', { cause }));
    const attester = createAttester(refuse, { log: silentLog, say: (line) => said.push(line) });
    expect((await lookup(await setUp({}, { attester }), limits)).uuid).toBe(fakeNodeUuid);
    const problem = await shown();
    expect(problem).toMatch(/^open the TPM at \/dev\/tpmrm0: +ber x-other: 1 (long )+lo?n?g?$/);
    expect(problem?.length).toBeGreaterThan(195);
    expect(problem?.length).toBeLessThanOrEqual(200);
    expect(said.join('\n')).toContain('not attested: open the TPM at /dev/tpmrm0');
  });

  test('takes its own token where the conductor shows none any more', async () => {
    const masked = { config: { agent_token: '******' } };
    const own = 'o'.repeat(43);
    const found = await lookup(await setUp(masked, { ownToken: () => own }), limits);
    expect(found.token).toBe(own);
  });

  test('a node whose token another agent got is not found', async () => {
    const dependencies = await setUp({ config: { agent_token: '******' } });
    const failure = await lookup(dependencies, { timeoutMs: 0, intervalMs: 1 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ cause: { code: 'unauthorized' } });
  });

  test('an old API: its own version in the header, no token, heartbeat_timeout at the top', async () => {
    const dependencies = await setUp({ version: '1.50' });
    conductor.answerNext(/lookup/, { status: 200, body: { node: { uuid: fakeNodeUuid }, heartbeat_timeout: 60 } });
    const found = await lookup(dependencies, limits);
    expect(found).toMatchObject({ token: undefined, heartbeatTimeoutMs: 60_000, apiVersion: 50 });
    expect(conductor.seen[1]?.version).toBe('1.50');
  });

  test('an API that does not tell its version is taken for 1.31', async () => {
    const dependencies = await setUp();
    conductor.answerNext(/^\/$/, { status: 200, body: 'hello' });
    conductor.answerNext(/lookup/, { status: 200, body: { node: { uuid: fakeNodeUuid }, heartbeat_timeout: 60 } });
    expect((await lookup(dependencies, limits)).apiVersion).toBe(31);
  });

  test('a machine without network cards waits for them', async () => {
    const late = [[], addresses];
    const dependencies = await setUp({}, { addresses: () => Promise.resolve(late.shift() ?? []) });
    expect((await lookup(dependencies, limits)).uuid).toBe(fakeNodeUuid);
    expect(clock.sleeps).toHaveLength(1);
  });

  test('stops when the agent does', async () => {
    const dependencies = await setUp();
    const signal = AbortSignal.abort(new Error('stopped by SIGTERM'));
    await expect(lookup({ ...dependencies, signal }, limits)).rejects.toThrow('stopped by SIGTERM');
  });
});
