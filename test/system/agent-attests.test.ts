import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiClient } from '#agent/api/api-client.ts';
import { createAttester } from '#agent/attest.ts';
import { type FoundNode, lookup, lookupOnce } from '#agent/lookup.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import {
  type Answer,
  type FakeConductor,
  fakeNodeUuid,
  fakeToken,
  ironicFault,
  lookupBody,
  type SeenRequest,
  startFakeConductor,
} from '#agent/testing/fake-conductor.ts';
import type { OpenTpm } from '#agent/tpm/open-tpm.ts';
import { createTpm } from '#agent/tpm/tpm.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { AttestationAnswer, AttestationRequest, proveCredential, sealLookup } from '#shared/wire/attestation.ts';
import { type SoftwareTpm, startSwtpm } from '#test/support/swtpm.ts';

const nonce = 'ab'.repeat(32);
const secret = Buffer.alloc(32, 5);
const limits = { timeoutMs: 600_000, intervalMs: 1000 };

/** A lookup by the TPM, with Debian's swtpm and a conductor that makes its credentials by tpm2-tools. */
describe('an agent with a TPM', () => {
  let directory: string;
  let swtpm: SoftwareTpm;
  let conductor: FakeConductor;
  let eventLog: Buffer | undefined;
  const said: string[] = [];
  const closers: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'baton-attests-'));
    eventLog = Buffer.from('events');
    said.length = 0;
    closers.push(() => rm(directory, { recursive: true }));
    swtpm = await startSwtpm({ certificate: false });
    closers.push(() => swtpm.stop());
  });
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  const challenge = async (request: AttestationRequest, inside = secret): Promise<Answer> => {
    const publicPart = Buffer.from(request.ak_public, 'base64').subarray(2);
    const name = `000b${createHash('sha256').update(publicPart).digest('hex')}`;
    const path = (file: string): string => join(directory, file);
    await writeFile(path('ek.pub'), Buffer.from(request.ek_public, 'base64'));
    await writeFile(path('secret'), inside);
    await run('tpm2_makecredential', [
      '--tcti',
      'none',
      '--encryption-key',
      path('ek.pub'),
      '--name',
      name,
      '--secret',
      path('secret'),
      '--credential-blob',
      path('credential'),
    ]);
    const credential = (await readFile(path('credential'))).subarray(8).toString('base64');
    return { status: 200, body: { challenge: 'sealed', nonce, credential } };
  };
  const attested = (sealedWith = secret): Answer => ({
    status: 200,
    body: { verdict: 'trusted', lookup: sealLookup(lookupBody(), sealedWith, nonce).toString('base64') },
  });
  /** A conductor that attests, but for what `answer` says. */
  const attests =
    (answer: (request: SeenRequest) => Promise<Answer | undefined> = () => Promise.resolve(undefined)) =>
    async (request: SeenRequest): Promise<Answer | undefined> => {
      const other = await answer(request);
      if (other !== undefined) return other;
      if (request.path === '/v1/attestations') return challenge(AttestationRequest.parse(request.body));
      return request.path === '/v1/attestations/answer' ? attested() : undefined;
    };

  const openSwtpm: OpenTpm = async (log, signal) => ({
    tpm: createTpm(await swtpm.connect(), { log, signal, limits: { commandMs: 60_000, makeKeyMs: 60_000 } }),
    readEventLog: () =>
      Promise.resolve(eventLog === undefined ? { problem: `no log, ${'long '.repeat(200)}` } : { log: eventLog }),
  });
  const setUp = async (
    answer: (request: SeenRequest) => Promise<Answer | undefined>,
    openTpm = openSwtpm,
  ): Promise<Parameters<typeof lookup>[0]> => {
    conductor = await startFakeConductor({ answer });
    closers.push(() => conductor.close());
    const api = createApiClient({ urls: [conductor.url], insecure: false, requestTimeoutMs: 60_000, log: silentLog });
    closers.push(() => api.close());
    const say = (line: string): void => void said.push(line);
    return {
      api,
      attester: createAttester(openTpm, { log: silentLog, say }),
      addresses: () => Promise.resolve(['52:54:00:00:00:01']),
      bootToken: 'b'.repeat(43),
      ownToken: () => undefined,
      clock: createInstantClock(),
      random: () => 0.5,
      log: silentLog,
      say,
      signal: new AbortController().signal,
    };
  };
  const paths = (): string[] => conductor.seen.map(({ method, path }) => `${method} ${path}`);
  const leftovers = async (): Promise<string> =>
    (await swtpm.tool('tpm2_getcap', 'handles-transient')) +
    (await swtpm.tool('tpm2_getcap', 'handles-loaded-session'));
  const isFound = (node: FoundNode): void => expect(node).toMatchObject({ uuid: fakeNodeUuid, token: fakeToken });

  test('gets the answer of its lookup for nobody but its TPM', async () => {
    isFound(await lookup(await setUp(attests()), limits));
    expect(paths()).toEqual(['GET /', 'POST /v1/attestations', 'POST /v1/attestations/answer']);
    const [, asked, answered] = conductor.seen;
    expect(asked).toMatchObject({ version: '1.62', bootToken: 'b'.repeat(43) });
    expect(AttestationRequest.parse(asked?.body)).toMatchObject({ addresses: ['52:54:00:00:00:01'] });
    const answer = AttestationAnswer.parse(answered?.body);
    expect(answer.proof).toBe(proveCredential(secret, Buffer.from(answer.quote, 'base64')));
    expect(answer).toMatchObject({ challenge: 'sealed', event_log: Buffer.from('events').toString('base64') });
    expect(Buffer.from(answer.quote, 'base64').includes(Buffer.from(nonce, 'hex'))).toBe(true);
    expect(said).toContain('attested: trusted');
    expect(await leftovers()).toBe('');
  });

  test('says why there is no event log', async () => {
    eventLog = undefined;
    isFound(await lookup(await setUp(attests()), limits));
    const answer = AttestationAnswer.parse(conductor.seen[2]?.body);
    expect(answer).toMatchObject({ event_log_problem: expect.stringMatching(/^no log, long/) });
    expect(answer).not.toHaveProperty('event_log');
  });

  test.each([404, 401, 405])(
    'looks itself up plainly at a conductor that answers %i: it does not attest',
    async (status) => {
      const answer = async ({ path }: SeenRequest): Promise<Answer | undefined> =>
        path.startsWith('/v1/attestations') ? ironicFault(status, 'not here') : undefined;
      isFound(await lookup(await setUp(answer), limits));
      expect(paths()).toEqual(['GET /', 'POST /v1/attestations', 'GET /v1/lookup']);
      expect(conductor.seen[2]).toMatchObject({ attestationProblem: undefined, bootToken: 'b'.repeat(43) });
      expect(await leftovers()).toBe('');
    },
  );

  test.each([
    ['POST /v1/attestations', 403],
    ['POST /v1/attestations', 409],
    ['POST /v1/attestations', 503],
    ['POST /v1/attestations/answer', 403],
    ['POST /v1/attestations/answer', 404],
  ])('takes a refusal for the lookup’s, and tries again: %s %i', async (refused, status) => {
    let left = 2;
    const dependencies = await setUp(
      attests(async ({ method, path }) => {
        if (`${method} ${path}` !== refused || left === 0) return undefined;
        left -= 1;
        return ironicFault(status, 'the endorsement key is another');
      }),
    );
    isFound(await lookup(dependencies, limits));
    expect(said.filter((line) => line.includes(`${status}: the endorsement key is another`))).toHaveLength(2);
    expect(paths().filter((path) => path === refused)).toHaveLength(3);
    expect(paths()).not.toContain('GET /v1/lookup');
    // the keys are made once
    expect(new Set(conductor.seen.flatMap(({ body }) => body['ak_public'] ?? [])).size).toBe(1);
    expect(await leftovers()).toBe('');
  });

  test.each([
    ['is no answer', { status: 200, body: {} }, "the conductor's attestation can't be read: verdict: "],
    ['is sealed with another secret', undefined, "open the lookup's answer with the secret that the TPM has opened"],
  ])('does not believe an answer that %s', async (_, answer, words) => {
    const dependencies = await setUp(
      attests(async ({ path }) =>
        path === '/v1/attestations/answer' ? (answer ?? attested(Buffer.alloc(32, 6))) : undefined,
      ),
    );
    await expect(lookupOnce(dependencies)).rejects.toThrow(words);
    expect(paths()).not.toContain('GET /v1/lookup');
    expect(await leftovers()).toBe('');
  });

  test('whose credential is for another TPM looks itself up plainly and says so', async () => {
    const dependencies = await setUp(
      attests(async ({ path }) =>
        path === '/v1/attestations'
          ? { status: 200, body: { challenge: 'sealed', nonce, credential: Buffer.alloc(4).toString('base64') } }
          : undefined,
      ),
    );
    isFound(await lookup(dependencies, limits));
    expect(conductor.seen.at(-1)).toMatchObject({
      path: '/v1/lookup',
      attestationProblem: expect.stringMatching(/^the TPM refuses TPM2_ActivateCredential/),
    });
    expect(await leftovers()).toBe('');
  });

  test('whose TPM hangs looks itself up plainly, and does not wait for it again', async () => {
    let opened = 0;
    const openHanging: OpenTpm = async (log, signal) => {
      opened += 1;
      const tpm = createTpm(await swtpm.connect(), { log, signal, limits: { commandMs: 50, makeKeyMs: 50 } });
      return { tpm, readEventLog: () => Promise.resolve({ problem: 'none' }) };
    };
    const dependencies = await setUp(attests(), openHanging);
    swtpm.pause();
    conductor.answerNext(/lookup/, ironicFault(404, 'Resource could not be found.'));
    isFound(await lookup(dependencies, limits));
    expect(opened).toBe(1);
    const problem = 'the TPM has not answered TPM2_GetCapability in 0.05 s';
    expect(conductor.seen.slice(1)).toMatchObject([
      { path: '/v1/lookup', attestationProblem: problem },
      { path: '/v1/lookup', attestationProblem: problem },
    ]);
  });

  test('is attested with other keys when it looks itself up once more', async () => {
    const dependencies = await setUp(attests());
    isFound(await lookup(dependencies, limits));
    isFound(await lookupOnce(dependencies));
    const field = (name: string): unknown[] => conductor.seen.flatMap(({ body }) => body[name] ?? []);
    expect(new Set(field('ek_public')).size).toBe(1);
    expect(new Set(field('ak_public')).size).toBe(2);
  });
});
