import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { ApiAnswer } from '#agent/api/api-client.ts';
import { refusedLookup } from '#agent/api/refused-lookup.ts';
import type { Say } from '#agent/say.ts';
import { activateCredential } from '#agent/tpm/activate-credential.ts';
import { type AttestationKey, makeAttestationKey } from '#agent/tpm/attestation-key.ts';
import { requireSha256Bank } from '#agent/tpm/capabilities.ts';
import { makeEndorsementKey } from '#agent/tpm/endorsement-key.ts';
import type { TpmKey } from '#agent/tpm/make-key.ts';
import type { MachineTpm, OpenTpm } from '#agent/tpm/open-tpm.ts';
import { makeQuote, readPcrs } from '#agent/tpm/quote.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import type { Log } from '#shared/log.ts';
import {
  AttestationAnswer,
  AttestationChallenge,
  AttestationRequest,
  AttestedLookup,
  openLookup,
  proveCredential,
  quotedPcrs,
  type TpmQuote,
} from '#shared/wire/attestation.ts';

/**
 * Outcome of an attempt to be attested: the lookup's answer, or the reason why the machine has to look itself up without;
 * `undefined`: the conductor does not attest machines.
 */
export type Attested = { readonly lookup: unknown } | { readonly problem: string | undefined };

export interface AttestationCall {
  readonly addresses: readonly string[];
  readonly post: (path: string, body: unknown) => Promise<ApiAnswer>;
  readonly signal: AbortSignal;
}

/** Proves to a conductor, by the machine's TPM 2.0, which machine it is and what it has booted. */
export interface Attester {
  /**
   * One attempt; the keys in the TPM are kept for the next.
   * @throws AppError when the conductor refuses, as a lookup does; trouble with the TPM is a `problem`
   */
  attest(call: AttestationCall): Promise<Attested>;
  /**
   * Quotes the PCRs over a nonce of 32 bytes, by the attestation key that has attested this boot.
   * @throws AppError `not_found`: the machine has no TPM 2.0; `timeout`, `agent_error`: trouble with it
   */
  quote(nonce: Buffer, signal: AbortSignal): Promise<TpmQuote>;
  /** Leaves the TPM without keys and sessions of ours. Never rejects. */
  release(): Promise<void>;
}

/**
 * Statuses of a conductor that has no such call: 404; with a login in front of it, which knows the calls of real Ironic that
 * need none, 401; 405 from some servers in between.
 */
const notAttesting: ReadonlySet<number> = new Set([401, 404, 405]);

/** A TPM with the keys of this boot. */
interface OpenedTpm extends MachineTpm {
  readonly endorsement: TpmKey & { readonly certificate: Buffer | undefined };
  readonly attestation: AttestationKey;
}

export function createAttester(openTpm: OpenTpm, { log, say }: { readonly log: Log; readonly say: Say }): Attester {
  let opened: OpenedTpm | undefined;
  /** A TPM that hangs is not waited for again. */
  let hangs: string | undefined;
  /** Seed of the key that was attested last, from which the TPM makes it again for a quote. */
  let attested: Buffer | undefined;

  const release = async (): Promise<void> => {
    const { tpm } = opened ?? {};
    opened = undefined;
    await tpm?.close();
  };
  /** Runs what needs the TPM; trouble with it is returned as a text. */
  const withTpm = async <T>(signal: AbortSignal, work: (tpm: OpenedTpm) => Promise<T>): Promise<T | string> => {
    if (hangs !== undefined) return hangs;
    try {
      opened ??= await openWithKeys(openTpm, randomBytes(256), log, signal);
      return await work(opened);
    } catch (error) {
      await release();
      signal.throwIfAborted();
      const problem = errorChain(error);
      if (errorCode(error) === 'timeout') hangs = problem;
      if (errorCode(error) !== 'not_found') {
        log.warn({ err: error }, 'the TPM can not attest this machine');
        say(`not attested: ${problem}`);
      }
      return problem;
    }
  };

  const attest: Attester['attest'] = async ({ addresses, post, signal }) => {
    const startedMs = performance.now();
    const asked = await withTpm(signal, ({ endorsement, attestation }) =>
      Promise.resolve(toRequest(addresses, endorsement, attestation)),
    );
    if (typeof asked === 'string') return { problem: asked };
    const answer = await post('/v1/attestations', asked);
    if (notAttesting.has(answer.status)) return { problem: undefined };
    const challenge = parse(AttestationChallenge, answer, addresses);
    const proven = await withTpm(signal, (tpm) => prove(tpm, challenge));
    if (typeof proven === 'string') return { problem: proven };
    const { verdict, lookup } = parse(AttestedLookup, await post('/v1/attestations/answer', proven.answer), addresses);
    attested = proven.unique;
    say(`attested: ${verdict}`);
    log.info({ verdict, durationMs: Math.round(performance.now() - startedMs) }, 'attested');
    return { lookup: open(Buffer.from(lookup, 'base64'), proven.secret, challenge.nonce) };
  };
  const quote: Attester['quote'] = async (nonce, signal) => {
    if (hangs !== undefined) throw new AppError('timeout', hangs);
    if (!attested) throw new AppError('not_found', 'no TPM has attested this boot');
    const { tpm } = await openTpm(log, signal);
    try {
      return await quoteBy(tpm, await makeAttestationKey(tpm, attested), nonce);
    } finally {
      await tpm.close();
    }
  };
  return { attest, quote, release };
}

async function openWithKeys(openTpm: OpenTpm, seed: Buffer, log: Log, signal: AbortSignal): Promise<OpenedTpm> {
  const machine = await openTpm(log, signal);
  try {
    await requireSha256Bank(machine.tpm, quotedPcrs);
    const endorsement = await makeEndorsementKey(machine.tpm);
    return { ...machine, endorsement, attestation: await makeAttestationKey(machine.tpm, seed) };
  } catch (error) {
    await machine.tpm.close();
    throw error;
  }
}

/** @throws AppError `agent_error`: the TPM has what the conductor would not take */
function toRequest(
  addresses: readonly string[],
  { publicPart, certificate }: OpenedTpm['endorsement'],
  attestation: AttestationKey,
): AttestationRequest {
  return checked(AttestationRequest, {
    addresses: [...addresses],
    ek_public: publicPart.toString('base64'),
    ...(certificate === undefined ? {} : { ek_certificate: certificate.toString('base64') }),
    ak_public: attestation.publicPart.toString('base64'),
    ak_unique: attestation.unique.toString('base64'),
  });
}

async function prove(
  { tpm, endorsement, attestation, readEventLog }: OpenedTpm,
  { challenge, nonce, credential }: AttestationChallenge,
): Promise<{ readonly answer: AttestationAnswer; readonly secret: Buffer; readonly unique: Buffer }> {
  const secret = await activateCredential(tpm, { endorsement, attestation }, Buffer.from(credential, 'base64'));
  const quoted = await quoteBy(tpm, attestation, Buffer.from(nonce, 'hex'));
  const events = await readEventLog();
  const answer = checked(AttestationAnswer, {
    challenge,
    ...quoted,
    ...('log' in events
      ? { event_log: events.log.toString('base64') }
      : { event_log_problem: events.problem.slice(0, 500) }),
    proof: proveCredential(secret, Buffer.from(quoted.quote, 'base64')),
  });
  return { answer, secret, unique: attestation.unique };
}

async function quoteBy(tpm: Tpm, key: TpmKey, nonce: Buffer): Promise<TpmQuote> {
  const { quote, signature } = await makeQuote(tpm, key, nonce, quotedPcrs);
  return {
    quote: quote.toString('base64'),
    signature: signature.toString('base64'),
    pcr_values: await readPcrs(tpm, quotedPcrs),
  };
}

function checked<T>(schema: z.ZodType<T>, value: T): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new AppError('agent_error', `the TPM's answers are not fit to be sent: ${describeIssues(parsed.error)}`);
}

function parse<T>(schema: z.ZodType<T>, answer: ApiAnswer, addresses: readonly string[]): T {
  if (answer.status !== 200) throw refusedLookup(answer, addresses);
  const parsed = schema.safeParse(answer.body);
  if (parsed.success) return parsed.data;
  throw new AppError('agent_error', `the conductor's attestation can't be read: ${describeIssues(parsed.error)}`);
}

function open(sealed: Buffer, secret: Buffer, nonce: string): unknown {
  try {
    return openLookup(sealed, secret, nonce);
  } catch (cause) {
    throw new AppError('agent_error', "open the lookup's answer with the secret that the TPM has opened", { cause });
  }
}
